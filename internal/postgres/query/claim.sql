-- Locks pending rows after the floor, in the order of seq, and returns as many
-- as fit into the bytes of a batch.
--
-- $1 bigint   the floor: rows up to this seq are not looked at
-- $2 text     the bus of rows without a topic
-- $3 text[]   buses to leave out
-- $4 bigint[] rows to leave out
-- $5 bigint   at most so many rows are locked
-- $6 bigint   at most so many bytes of text are returned, but always one row
-- $7 bigint   a row whose payload, headers or names have more bytes of text than
--             this is oversized: it comes without payload and headers, and with
--             shortened names; 0: it comes without any text
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
    SELECT seq::bigint AS seq, id, aggregate_type, aggregate_id, event_type,
           payload, headers, source, topic, created_at, attempts
    FROM public.outbox
    WHERE published_at IS NULL
      AND seq > $1::bigint
      AND (deliver_after IS NULL OR deliver_after <= now())
      AND (retry_at IS NULL OR retry_at <= now())
      AND coalesce(nullif(topic, ''), $2::text) <> ALL ($3::text[])
      AND coalesce(nullif(topic, ''), $2::text) NOT IN (SELECT p.topic::text FROM public.outbox_paused p)
      AND NOT EXISTS (SELECT FROM public.outbox_paused p WHERE p.topic = '*')
      AND seq <> ALL ($4::bigint[])
    ORDER BY published_at, seq
    LIMIT $5::bigint
    FOR UPDATE SKIP LOCKED
),
-- What a row occupies in storage costs nothing to know. It bounds which rows are
-- turned into text at all: doing so for all that were locked could take longer
-- than the statement may, for rows that this batch has no room for. jsonb can
-- take a few times its text in storage, but not eight times; what is compressed
-- is taken for ten times its size.
stored AS (
    SELECT locked.*, names, size, huge, weight,
           sum(weight) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS total
    FROM locked,
         LATERAL (SELECT coalesce(octet_length(aggregate_type::text), 0) + coalesce(octet_length(aggregate_id::text), 0)
                       + coalesce(octet_length(event_type::text), 0) + coalesce(octet_length(source::text), 0)
                       + coalesce(octet_length(topic::text), 0) AS all_names) AS a,
         -- Names count where they are no longer what names are.
         LATERAL (SELECT CASE WHEN all_names > 4096 THEN all_names ELSE 0 END AS names) AS n,
         LATERAL (SELECT coalesce(pg_column_size(payload), 0)
                       + coalesce(pg_column_size(headers), 0) + names AS size) AS s,
         LATERAL (SELECT size > 8 * $7::bigint AS huge) AS h,
         LATERAL (SELECT CASE WHEN huge THEN 0
                              WHEN pg_column_compression(payload) IS NULL
                                   AND pg_column_compression(headers) IS NULL THEN size
                              ELSE 10 * size END AS weight) AS w
),
rendered AS MATERIALIZED (
    SELECT stored.*,
           CASE WHEN NOT huge THEN payload::text END AS payload_text,
           CASE WHEN NOT huge THEN headers::text END AS headers_text
    FROM stored
    WHERE total <= 4 * $6::bigint OR total = weight
),
measured AS (
    SELECT rendered.*,
           huge OR greatest(octet_length(payload_text), octet_length(headers_text), names) > $7::bigint
               AS oversized,
           CASE WHEN huge THEN size
                ELSE coalesce(octet_length(payload_text), 0) + coalesce(octet_length(headers_text), 0) + names
           END AS text_bytes
    FROM rendered
),
summed AS (
    SELECT measured.*,
           CASE WHEN oversized THEN 0 ELSE text_bytes END AS counted,
           sum(CASE WHEN oversized THEN 0 ELSE text_bytes END)
               OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS text_total
    FROM measured
)
SELECT seq,
       CASE WHEN $7::bigint > 0 THEN id::text END AS id,
       left(aggregate_type::text, longest) AS aggregate_type,
       left(aggregate_id::text, longest) AS aggregate_id,
       left(event_type::text, longest) AS event_type,
       CASE WHEN NOT oversized THEN payload_text END AS payload,
       CASE WHEN NOT oversized THEN headers_text END AS headers,
       left(source::text, longest) AS source,
       left(coalesce(nullif(topic, ''), $2::text), longest) AS bus,
       created_at,
       attempts::int AS attempts,
       text_bytes,
       oversized,
       statement_timestamp() AS claimed_at,
       (SELECT count(*) FROM locked) AS locked
FROM summed,
     LATERAL (SELECT CASE WHEN $7::bigint = 0 THEN 0 WHEN oversized THEN 2000 ELSE 2147483647 END AS longest) AS l
WHERE text_total <= $6::bigint OR text_total = counted
ORDER BY seq
