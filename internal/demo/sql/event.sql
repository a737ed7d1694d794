-- An event of the change. The application chooses the id, so that the ledger
-- knows it also when the commit is never answered.
--
-- $1 uuid  the event's identity
-- $2 text  what it is about
-- $3 text  what happened
-- $4 jsonb the data
-- $5 text  the source; null: the relay's own
-- $6 text  the bus; null: the relay's own
INSERT INTO public.outbox (id, aggregate_type, aggregate_id, event_type, payload, source, topic)
VALUES ($1, 'order', $2, $3, $4, $5, $6)
