-- Returns which of these ids failed events have. It reads the failed table once,
-- which has no index of ids: whose is missing is found without the server.
--
-- $1 text[] the ids
SELECT f.id::text
FROM public.outbox_failed AS f
WHERE f.id = ANY ($1::text[]::uuid[])
