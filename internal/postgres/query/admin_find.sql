-- Returns the failed events that pass the filters, without what they carry.
--
-- $1 text[]      ids; empty: any
-- $2 text        event type; empty: any
-- $3 text        error code; empty: any
-- $4 timestamptz failed before; -infinity: whenever
-- $5 bigint      at most so many
--
-- To change them, FOR UPDATE is added at the end: the rows are then locked in
-- the order of seq, so that of two operators one waits for the other and no more.
-- What the first one moved, the second one does not find.
--
-- Texts are cut: 900 characters of them, together. Whatever they are, a thousand
-- events fit into an answer of 6 MB, in which a character takes six bytes at most.
SELECT f.seq::bigint AS seq,
       f.id::text AS id,
       left(f.event_type::text, 128) AS event_type,
       left(f.aggregate_type::text, 100) AS aggregate_type,
       left(f.aggregate_id::text, 128) AS aggregate_id,
       left(f.topic::text, 160) AS topic,
       left(f.source::text, 100) AS source,
       f.created_at::timestamptz AS created_at,
       f.failed_at::timestamptz AS failed_at,
       left(f.error_code::text, 64) AS error_code,
       left(f.error_message::text, 220) AS error_message,
       f.attempts::int AS attempts,
       f.times_failed::int AS times_failed
FROM public.outbox_failed AS f
WHERE (cardinality($1::text[]) = 0 OR f.id = ANY ($1::text[]::uuid[]))
  AND ($2::text = '' OR f.event_type::text = $2::text)
  AND ($3::text = '' OR f.error_code::text = $3::text)
  AND ($4::timestamptz = '-infinity' OR f.failed_at < $4::timestamptz)
ORDER BY f.seq
LIMIT $5::bigint
