-- Moves rows that can never be published to the failed table, with the reason.
--
-- $1 bigint[] the rows
-- $2 text[]   each one's error code
-- $3 text[]   each one's error message
WITH moved AS (
    DELETE FROM public.outbox AS o
    USING unnest($1::bigint[], $2::text[], $3::text[]) AS f(seq, code, message)
    WHERE o.seq = f.seq
      AND o.published_at IS NULL
    RETURNING o.seq, o.id, o.aggregate_type, o.aggregate_id, o.event_type, o.payload,
              o.headers, o.source, o.topic, o.created_at, o.deliver_after, o.retry_at,
              o.attempts, f.code, f.message
), kept AS (
    INSERT INTO public.outbox_failed
        (seq, id, aggregate_type, aggregate_id, event_type, payload, headers, source, topic,
         created_at, deliver_after, retry_at, attempts, last_error,
         failed_at, error_code, error_message)
    SELECT seq, id, aggregate_type, aggregate_id, event_type, payload, headers, source, topic,
           created_at, deliver_after, retry_at, attempts + 1, code || ': ' || message,
           clock_timestamp(), code, message
    FROM moved
)
SELECT seq::bigint FROM moved
