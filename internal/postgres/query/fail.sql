-- Moves rows that can never be published to the failed table, with the reason.
--
-- $1 bigint[] the rows
-- $2 text[]   each one's error code
-- $3 text[]   each one's error message
--
-- An event that was moved back before has failed more than once: its redrives tell.
-- They are its own if they have its id too: a number may have been given again.
--
-- A row is deleted only once it has been kept: should something drop the insert,
-- it stays pending, and is missed in what this returns.
WITH condemned AS MATERIALIZED (
    SELECT o.seq, o.id, o.aggregate_type, o.aggregate_id, o.event_type, o.payload,
           o.headers, o.source, o.topic, o.created_at, o.deliver_after, o.retry_at,
           o.attempts, f.code, f.message
    FROM public.outbox AS o
    JOIN unnest($1::bigint[], $2::text[], $3::text[]) AS f(seq, code, message) ON o.seq = f.seq
    WHERE o.published_at IS NULL
    FOR UPDATE OF o
), kept AS (
    INSERT INTO public.outbox_failed
        (seq, id, aggregate_type, aggregate_id, event_type, payload, headers, source, topic,
         created_at, deliver_after, retry_at, attempts, last_error,
         failed_at, error_code, error_message, times_failed)
    SELECT seq, id, aggregate_type, aggregate_id, event_type, payload, headers, source, topic,
           created_at, deliver_after, retry_at, coalesce(attempts, 0) + 1, code || ': ' || message,
           clock_timestamp(), code, message,
           1 + coalesce((SELECT max(r.times_failed) FROM public.outbox_redriven AS r
                         WHERE r.seq = c.seq AND r.id::text IS NOT DISTINCT FROM c.id::text), 0)
    FROM condemned AS c
    RETURNING seq
)
DELETE FROM public.outbox AS o
USING kept
WHERE o.seq = kept.seq
  AND o.published_at IS NULL
RETURNING o.seq::bigint
