package emf

// Dimension is the one dimension of all metrics. Its value is the outbox's name.
const Dimension = "Outbox"

// Metrics of the relay, one value or more for each run.
const (
	EventsPublished = "EventsPublished"
	EventsFailed    = "EventsFailed"
	EventsDeferred  = "EventsDeferred"
	PublishLatency  = "PublishLatency" // Milliseconds
	BatchDuration   = "BatchDuration"  // Milliseconds
)

// Metrics of lag, one value for each run that has measured.
const (
	OldestUnpublishedAge = "OldestUnpublishedAge" // Seconds
	UnpublishedEvents    = "UnpublishedEvents"
	FailedEvents         = "FailedEvents"
	PausedEvents         = "PausedEvents"
	OldestPublishedAge   = "OldestPublishedAge" // Seconds
	DeadRows             = "DeadRows"
	OldestTransactionAge = "OldestTransactionAge" // Seconds
)

// RowsDeleted is the metric of cleanup.
const RowsDeleted = "RowsDeleted"
