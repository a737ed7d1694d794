-- Ends the pause of a bus.
--
-- $1 text the bus, as in topic; *: the pause of all
DELETE FROM public.outbox_paused
WHERE topic = $1::text
RETURNING topic::text
