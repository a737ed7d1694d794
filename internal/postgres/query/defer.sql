-- Leaves rows pending until their backoff is over.
--
-- $1 bigint[] the rows
-- $2 bigint[] each one's backoff in milliseconds
-- $3 text[]   each one's reason
UPDATE public.outbox AS o
SET retry_at = clock_timestamp() + d.backoff * interval '1 millisecond',
    attempts = o.attempts + 1,
    last_error = d.reason
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS d(seq, backoff, reason)
WHERE o.seq = d.seq
  AND o.published_at IS NULL
