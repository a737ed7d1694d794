-- Which of these events were committed: the rows of published events are kept.
--
-- $1 uuid[] the events
SELECT id::text
FROM (SELECT id FROM public.outbox UNION ALL SELECT id FROM public.outbox_failed) AS written
WHERE id = ANY ($1::uuid[])
