-- What is still to be published.
SELECT count(*)
FROM public.outbox
WHERE published_at IS NULL
