-- Finds the row that was published first.
--
-- $1 timestamptz rows that were published before are not looked at
--
-- At the front of the index there may be any number of entries of rows that were
-- deleted.
SELECT published_at::timestamptz AS published_at,
       now() AS measured_at
FROM public.outbox
WHERE published_at IS NOT NULL
  AND published_at > '-infinity'
  AND published_at >= $1::timestamptz
ORDER BY published_at, seq
LIMIT 1
