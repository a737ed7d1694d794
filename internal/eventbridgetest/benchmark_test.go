package eventbridgetest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// BenchmarkPutEvents sends requests of ten entries of 1 KB over kept connections, without the cost of the SDK.
func BenchmarkPutEvents(b *testing.B) {
	one := `{"Source":"shop","DetailType":"OrderPlaced","Time":1700000000.123,"EventBusName":"default","Detail":` +
		`"{\"metadata\":{\"id\":\"0197fb1c-0000-7000-8000-000000000000\"},\"data\":{\"p\":\"` + strings.Repeat("x", 900) + `\"}}"}`
	body := `{"Entries":[` + strings.Repeat(one+",", 9) + one + `]}`
	for name, recording := range map[string]eventbridgetest.Recording{
		"All": eventbridgetest.RecordAll, "IDs": eventbridgetest.RecordIDs, "Counts": eventbridgetest.RecordCounts,
	} {
		b.Run(name, func(b *testing.B) {
			srv, err := eventbridgetest.Start(eventbridgetest.WithRecording(recording))
			require.NoError(b, err)
			b.Cleanup(srv.Close)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			header := http.Header{}
			for key, value := range signed() {
				header.Set(key, value)
			}

			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, srv.URL(), strings.NewReader(body))
					if err != nil {
						b.Error(err)
					}

					r.Header = header
					response, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}

					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			})
			require.Equal(b, b.N*10, srv.Stats().Accepted)
			b.ReportMetric(float64(b.N*10)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
