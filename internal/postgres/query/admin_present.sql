-- Returns which of these numbers the outbox has. Its key does not always tell:
-- that of a partitioned table has more columns than seq.
--
-- $1 bigint[] the numbers
SELECT seq::bigint
FROM public.outbox
WHERE seq = ANY ($1::bigint[])
