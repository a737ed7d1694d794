-- Counts failed events by error code, the most frequent codes first.
--
-- $1 bigint at most so many events are looked at
SELECT error_code, count(*)
FROM (
    SELECT left(f.error_code::text, 64) AS error_code
    FROM public.outbox_failed AS f
    LIMIT $1::bigint
) AS failed
GROUP BY error_code
ORDER BY count(*) DESC, error_code
LIMIT 20
