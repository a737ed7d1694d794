package wire

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/smithy-go/logging"
)

// newLogger writes lines as Lambda reads them, with the request's id and the name
// of the outbox.
func newLogger(level slog.Level, outbox string) *slog.Logger {
	return slog.New(leveled{lambdacontext.NewLogHandler(), level}).With("outbox", outbox)
}

// leveled gives a handler another least level: the one of aws-lambda-go knows
// only AWS_LAMBDA_LOG_LEVEL.
type leveled struct {
	slog.Handler

	least slog.Level
}

// Enabled reports whether a line of the level is written.
func (l leveled) Enabled(_ context.Context, level slog.Level) bool { return level >= l.least }

// WithAttrs keeps the level.
func (l leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{l.Handler.WithAttrs(attrs), l.least}
}

// WithGroup keeps the level.
func (l leveled) WithGroup(name string) slog.Handler {
	return leveled{l.Handler.WithGroup(name), l.least}
}

// sdkLogger keeps what the AWS SDK has to say in the form of the log. It is of
// interest to who looks for it: what matters comes back as an error.
type sdkLogger struct{ log *slog.Logger }

// Logf implements the SDK's interface.
func (l sdkLogger) Logf(_ logging.Classification, format string, v ...any) {
	l.log.Debug("the AWS SDK says", "text", fmt.Sprintf(format, v...))
}
