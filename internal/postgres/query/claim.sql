-- Locks pending rows after the floor, in the order of seq, and returns as many
-- as fit into the bytes of a batch.
--
-- $1 bigint   the floor: rows up to this seq are not looked at
-- $2 text     the bus of rows without a topic
-- $3 text[]   buses to leave out
-- $4 bigint[] rows to leave out
-- $5 bigint   at most so many rows are locked
-- $6 bigint   at most so many bytes of text are returned, but always one row
-- $7 bigint   a row whose payload or headers have more bytes of text than this
--             is oversized: it comes without them
--
-- The order is (published_at, seq), which among pending rows is the order of
-- seq, because that is the key of the partial index and not of any other: with
-- seq alone the planner could as well walk the primary key through all the
-- published rows.
--
-- Everything returned is taken from the locked row itself. Reading it again
-- from the table by seq would show the row as of the statement's snapshot,
-- which may be older than the version that was locked.
WITH locked AS MATERIALIZED (
    SELECT seq::bigint AS seq,
           id::text AS id,
           aggregate_type::text AS aggregate_type,
           aggregate_id::text AS aggregate_id,
           event_type::text AS event_type,
           payload::text AS payload,
           headers::text AS headers,
           source::text AS source,
           coalesce(nullif(topic, ''), $2::text) AS bus,
           created_at,
           attempts::int AS attempts
    FROM public.outbox
    WHERE published_at IS NULL
      AND seq > $1::bigint
      AND (deliver_after IS NULL OR deliver_after <= now())
      AND (retry_at IS NULL OR retry_at <= now())
      AND coalesce(nullif(topic, ''), $2::text)
          <> ALL ($3::text[] || ARRAY(SELECT p.topic::text FROM public.outbox_paused p))
      AND NOT EXISTS (SELECT FROM public.outbox_paused p WHERE p.topic = '*')
      AND seq <> ALL ($4::bigint[])
    ORDER BY published_at, seq
    LIMIT $5::bigint
    FOR UPDATE SKIP LOCKED
), measured AS (
    SELECT locked.*,
           coalesce(octet_length(payload), 0) + coalesce(octet_length(headers), 0) AS text_bytes,
           coalesce(greatest(octet_length(payload), octet_length(headers)) > $7::bigint, false) AS oversized
    FROM locked
), summed AS (
    SELECT measured.*,
           CASE WHEN oversized THEN 0 ELSE text_bytes END AS counted,
           sum(CASE WHEN oversized THEN 0 ELSE text_bytes END)
               OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS total
    FROM measured
)
SELECT seq,
       id,
       aggregate_type,
       aggregate_id,
       event_type,
       CASE WHEN NOT oversized THEN payload END AS payload,
       CASE WHEN NOT oversized THEN headers END AS headers,
       source,
       bus,
       created_at,
       attempts,
       text_bytes,
       oversized,
       statement_timestamp() AS claimed_at,
       (SELECT count(*) FROM locked) AS locked
FROM summed
WHERE total <= $6::bigint OR total = counted
ORDER BY seq
