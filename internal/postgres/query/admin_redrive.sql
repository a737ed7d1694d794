-- Moves failed events back into the outbox, as they were written: with seq, id
-- and all that the application gave. The relay's columns begin anew, but for
-- last_error, which tells a reader of the row where it has been.
--
-- $1 bigint[] the events, which are locked
--
-- A line that holds one column is left out where that column cannot be written.
--
-- The failed table is where an event is safe: it is deleted there only once the
-- outbox has taken it. Should something drop the insert, it stays failed, and is
-- missed in what this returns.
--
-- Each way back is noted, and the next failure counts on from there. A number is
-- noted once, also where an older relay has failed the event, which did not count.
-- Where another event had its seq, which is then long gone, what is noted of that
-- one makes room.
WITH chosen AS MATERIALIZED (
    SELECT f.seq, f.id, f.event_type, f.payload,
           f.aggregate_type, f.aggregate_id, f.headers, f.source, f.topic, f.created_at, f.deliver_after, f.last_error,
           f.attempts AS attempts_made, f.failed_at, f.error_code, f.error_message,
           greatest(1, f.times_failed,
                    1 + (SELECT max(r.times_failed) FROM public.outbox_redriven AS r
                         WHERE r.seq = f.seq AND r.id::text IS NOT DISTINCT FROM f.id::text)) AS times_failed,
           0 AS attempts,
           NULL::timestamptz AS retry_at,
           NULL::timestamptz AS published_at
    FROM public.outbox_failed AS f
    WHERE f.seq = ANY ($1::bigint[])
), taken AS (
    INSERT INTO public.outbox (
        seq, id, event_type, payload, attempts
        , aggregate_type
        , aggregate_id
        , headers
        , source
        , topic
        , created_at
        , deliver_after
        , retry_at
        , last_error
        , published_at
    )
    OVERRIDING SYSTEM VALUE
    SELECT
        seq, id, event_type, payload, attempts
        , aggregate_type
        , aggregate_id
        , headers
        , source
        , topic
        , created_at
        , deliver_after
        , retry_at
        , last_error
        , published_at
    FROM chosen
    RETURNING seq, id
), noted AS (
    INSERT INTO public.outbox_redriven (seq, id, attempts, failed_at, error_code, error_message, times_failed)
    SELECT c.seq, c.id, coalesce(c.attempts_made, 0), c.failed_at, c.error_code, c.error_message, c.times_failed
    FROM chosen AS c
    WHERE c.seq IN (SELECT t.seq FROM taken AS t)
    ON CONFLICT (seq, times_failed) DO UPDATE
    SET id = excluded.id, attempts = excluded.attempts, failed_at = excluded.failed_at,
        error_code = excluded.error_code, error_message = excluded.error_message, redriven_at = excluded.redriven_at
    RETURNING seq
), removed AS (
    DELETE FROM public.outbox_failed AS f
    WHERE f.seq = ANY ($1::bigint[])
      AND f.seq IN (SELECT t.seq FROM taken AS t)
    RETURNING f.seq
)
SELECT t.seq::bigint,
       EXISTS (SELECT FROM chosen AS c WHERE c.seq = t.seq AND c.id IS NOT DISTINCT FROM t.id) AS same,
       EXISTS (SELECT FROM noted AS n WHERE n.seq = t.seq) AS noted,
       EXISTS (SELECT FROM removed AS r WHERE r.seq = t.seq) AS removed
FROM taken AS t
