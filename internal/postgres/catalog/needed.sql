-- Whether a partition has an event that is pending, or that was published within
-- the retention. Written for the outbox as a whole; the partition's name is put in.
--
-- $1 float8 the retention, in seconds
--
-- Both are answered by the first entry of a partial index, which is why the
-- second one asks for the last event instead of for any.
SELECT EXISTS (SELECT FROM public.outbox WHERE published_at IS NULL)
    OR coalesce((SELECT published_at
                 FROM public.outbox
                 WHERE published_at IS NOT NULL
                 ORDER BY published_at DESC, seq DESC
                 LIMIT 1) > now() - $1::float8 * interval '1 second', false)
