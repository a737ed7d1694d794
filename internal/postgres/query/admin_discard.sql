-- Deletes failed events.
--
-- $1 bigint[] the events, which are locked
DELETE FROM public.outbox_failed
WHERE seq = ANY ($1::bigint[])
RETURNING seq::bigint
