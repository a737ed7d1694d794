-- The rows of published events that were not deleted yet.
SELECT count(*)
FROM public.outbox
WHERE published_at IS NOT NULL
