package secretstest_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/secretstest"
)

const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:outbox/relay-AbCdEf"

// newClient makes the real client, with one attempt a call unless attempts says otherwise.
func newClient(srv *secretstest.Server, attempts int) *secretsmanager.Client {
	return secretsmanager.New(secretsmanager.Options{
		BaseEndpoint:     aws.String(srv.URL()),
		Region:           "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		RetryMaxAttempts: attempts,
	})
}

func get(ctx context.Context, srv *secretstest.Server, id, stage string) (*secretsmanager.GetSecretValueOutput, error) {
	input := &secretsmanager.GetSecretValueInput{SecretId: aws.String(id)}
	if stage != "" {
		input.VersionStage = aws.String(stage)
	}
	return newClient(srv, 1).GetSecretValue(ctx, input)
}

func requireString(t *testing.T, srv *secretstest.Server, stage, expected string) {
	t.Helper()

	out, err := get(t.Context(), srv, arn, stage)
	require.NoError(t, err)
	require.Equal(t, expected, aws.ToString(out.SecretString))
}

func requireCode(t *testing.T, err error, code string) {
	t.Helper()

	var refused smithy.APIError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.ErrorCode())
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("AnswersTheCurrentString", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, `{"username":"relay"}`)
		out, err := get(t.Context(), srv, arn, "")
		require.NoError(t, err)
		require.JSONEq(t, `{"username":"relay"}`, aws.ToString(out.SecretString))
		require.Nil(t, out.SecretBinary)
		require.Equal(t, arn, aws.ToString(out.ARN))
		require.Equal(t, "outbox/relay", aws.ToString(out.Name))
		require.Equal(t, []string{secretstest.Current}, out.VersionStages)
		require.NotEmpty(t, aws.ToString(out.VersionId))
		require.WithinDuration(t, time.Now(), aws.ToTime(out.CreatedDate), time.Minute)
	})

	t.Run("AnswersAnEmptyString", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "")
		out, err := get(t.Context(), srv, arn, "")
		require.NoError(t, err)
		require.NotNil(t, out.SecretString)
		require.Empty(t, *out.SecretString)
	})

	t.Run("AnswersBinary", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.SetBinary(arn, []byte{0, 1, 255})
		out, err := get(t.Context(), srv, arn, "")
		require.NoError(t, err)
		require.Nil(t, out.SecretString)
		require.Equal(t, []byte{0, 1, 255}, out.SecretBinary)
	})

	t.Run("FindsASecretByNameAndByPartialARN", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "x")
		for _, id := range []string{"outbox/relay", "arn:aws:secretsmanager:us-east-1:123456789012:secret:outbox/relay"} {
			_, err := get(t.Context(), srv, id, "")
			require.NoError(t, err)
		}
	})

	t.Run("MovesTheStagesOfARotation", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Promote(arn)
		srv.Set(arn, "first")
		srv.Promote(arn)
		srv.SetPending(arn, "second")
		requireString(t, srv, "", "first")
		requireString(t, srv, secretstest.Pending, "second")

		srv.Promote(arn)
		requireString(t, srv, "", "second")
		requireString(t, srv, secretstest.Previous, "first")
		_, err := get(t.Context(), srv, arn, secretstest.Pending)
		requireCode(t, err, "ResourceNotFoundException")

		srv.Set(arn, "third")
		requireString(t, srv, secretstest.Current, "third")
		requireString(t, srv, secretstest.Previous, "second")
	})

	t.Run("FindsAVersionByItsID", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "first")
		before, err := get(t.Context(), srv, arn, "")
		require.NoError(t, err)
		srv.Set(arn, "second")
		out, err := newClient(srv, 1).GetSecretValue(t.Context(),
			&secretsmanager.GetSecretValueInput{SecretId: aws.String(arn), VersionId: before.VersionId})
		require.NoError(t, err)
		require.Equal(t, "first", aws.ToString(out.SecretString))
	})

	t.Run("RefusesASecretThatDoesNotExist", func(t *testing.T) {
		t.Parallel()
		_, err := get(t.Context(), secretstest.New(t), arn, "")
		requireCode(t, err, "ResourceNotFoundException")
	})

	t.Run("RecordsWhatCallsAskedFor", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "x")
		requireString(t, srv, "", "x")
		requireString(t, srv, secretstest.Current, "x")

		require.Equal(t, 2, srv.CallCount())
		require.Equal(t, []secretstest.Call{{SecretID: arn}, {SecretID: arn, VersionStage: secretstest.Current}}, srv.Calls())
	})

	t.Run("RefusesAnUnsignedCall", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "x")
		client := secretsmanager.New(secretsmanager.Options{
			BaseEndpoint: aws.String(srv.URL()), Region: "us-east-1", Credentials: aws.AnonymousCredentials{},
		})
		_, err := client.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String(arn)})
		requireCode(t, err, "MissingAuthenticationTokenException")
	})

	t.Run("RefusesOtherOperations", func(t *testing.T) {
		t.Parallel()
		_, err := newClient(secretstest.New(t), 1).ListSecrets(t.Context(), &secretsmanager.ListSecretsInput{})
		requireCode(t, err, "UnknownOperationException")
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()

	t.Run("ThrottlesTheFirstTwoCalls", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "x")
		srv.Script(secretstest.Repeat(2, secretstest.Throttle())...)
		for range 2 {
			_, err := get(t.Context(), srv, arn, "")
			requireCode(t, err, "ThrottlingException")
		}

		requireString(t, srv, "", "x")
		require.Equal(t, 3, srv.CallCount())
	})
	for code, fault := range map[string]secretstest.Fault{
		"ResourceNotFoundException": secretstest.NotFound(),
		"AccessDeniedException":     secretstest.AccessDenied(),
		"InternalServiceError":      secretstest.InternalServiceError(),
		"DecryptionFailure":         secretstest.Refuse(400, "DecryptionFailure", "key disabled"),
	} {
		t.Run("Answers"+code+"UntilCleared", func(t *testing.T) {
			t.Parallel()
			srv := secretstest.New(t)
			srv.Set(arn, "x")
			srv.Always(fault)
			for range 2 {
				_, err := get(t.Context(), srv, arn, "")
				requireCode(t, err, code)
			}

			srv.Clear()
			requireString(t, srv, "", "x")
		})
	}

	t.Run("HangsUntilTheClientGoesAway", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "x")
		srv.Script(secretstest.Hang())
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := get(ctx, srv, arn, "")
			failed <- err
		}()

		require.NoError(t, srv.WaitCalls(t.Context(), 1))
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		requireString(t, srv, "", "x")
	})

	t.Run("EndsHangsWhenTheServerCloses", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Always(secretstest.Hang())
		failed := make(chan error, 1)
		go func() {
			_, err := get(t.Context(), srv, arn, "")
			failed <- err
		}()

		require.NoError(t, srv.WaitCalls(t.Context(), 1))
		srv.Close()
		require.Error(t, <-failed)
	})

	t.Run("AnswersLate", func(t *testing.T) {
		t.Parallel()
		srv := secretstest.New(t)
		srv.Set(arn, "x")
		srv.Always(secretstest.Latency(20 * time.Millisecond))
		start := time.Now()
		requireString(t, srv, "", "x")
		require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
	})

	t.Run("StopsWaitingForCallsWithTheContext", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, secretstest.New(t).WaitCalls(ctx, 1), context.Canceled)
	})
}
