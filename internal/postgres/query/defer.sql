-- Leaves rows pending until their backoff is over.
--
-- $1 bigint[] the rows
-- $2 bigint[] each one's backoff in milliseconds
-- $3 text[]   each one's reason
-- $4 int[]    how often each had failed when it was claimed; below 0: no matter
--
-- A row that has failed otherwise since was deferred already, by a commit whose
-- answer was lost, so the statement can be repeated.
UPDATE public.outbox AS o
SET retry_at = clock_timestamp() + d.backoff * interval '1 millisecond',
    attempts = coalesce(o.attempts, 0) + 1,
    last_error = d.reason
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[]) AS d(seq, backoff, reason, attempts)
WHERE o.seq = d.seq
  AND (coalesce(o.attempts, 0) = d.attempts OR d.attempts < 0)
  AND o.published_at IS NULL
RETURNING CASE WHEN o.retry_at IS NOT NULL THEN o.seq::bigint END
