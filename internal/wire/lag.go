package wire

import (
	"reflect"
	"time"

	"outboxrelay/internal/config"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// LagAnswer is the JSON form of a lag.
type LagAnswer struct {
	OldestUnpublishedAgeSeconds float64 `json:"oldest_unpublished_age_seconds"`
	Unpublished                 int     `json:"unpublished"`
	UnpublishedIsLowerBound     bool    `json:"unpublished_is_lower_bound"`
	Failed                      int     `json:"failed"`
	Paused                      int     `json:"paused"`
	OldestPublishedAgeSeconds   float64 `json:"oldest_published_age_seconds"`
	DeadRows                    int64   `json:"dead_rows"`
	OldestTransactionAgeSeconds float64 `json:"oldest_transaction_age_seconds"`
}

// NewLagAnswer puts a lag into its JSON form.
func NewLagAnswer(lag outbox.Lag) LagAnswer {
	return LagAnswer{
		OldestUnpublishedAgeSeconds: seconds(lag.OldestUnpublishedAge),
		Unpublished:                 lag.Unpublished,
		UnpublishedIsLowerBound:     lag.UnpublishedIsLowerBound,
		Failed:                      lag.Failed,
		Paused:                      lag.Paused,
		OldestPublishedAgeSeconds:   seconds(lag.OldestPublishedAge),
		DeadRows:                    lag.DeadRows,
		OldestTransactionAgeSeconds: seconds(lag.OldestTransactionAge),
	}
}

// Fields are the members of the answer, by their names in JSON, as a line of the
// log takes them.
func (a LagAnswer) Fields() (fields []any) {
	value := reflect.ValueOf(a)
	for i := range value.NumField() {
		fields = append(fields, value.Type().Field(i).Tag.Get("json"), value.Field(i).Interface())
	}
	return fields
}

// seconds is a duration as answers and metrics have it: to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// LagProbe returns the probe of those who measure: lag, and admin for its status.
func (b Base) LagProbe(settings config.Lag) *outbox.LagProbe {
	return outbox.NewLagProbe(postgres.NewLagStore(b.Connector.Connect, postgres.LagConfig{
		Table:      b.Table,
		Bus:        settings.Bus,
		CountLimit: settings.CountLimit,
	}), b.Log)
}
