-- Counts the failed events.
--
-- $1 bigint the count stops here
SELECT count(*) AS failed
FROM (SELECT seq FROM public.outbox_failed ORDER BY seq LIMIT $1::bigint) AS f
