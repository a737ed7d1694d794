-- Returns ids that no failed event has, the first ten, each with the number of
-- all of them.
--
-- $1 text[] the ids
SELECT given.id::text, count(*) OVER ()
FROM unnest($1::text[]::uuid[]) WITH ORDINALITY AS given(id, place)
WHERE NOT EXISTS (SELECT FROM public.outbox_failed AS f WHERE f.id = given.id)
ORDER BY given.place
LIMIT 10
