-- Whether a partition has an event that is pending, or that was published within
-- the retention. Written for the outbox as a whole; the name is put in.
--
-- $1 interval the retention, in seconds
SELECT EXISTS (SELECT FROM public.outbox WHERE published_at IS NULL)
    OR EXISTS (SELECT FROM public.outbox WHERE published_at > now() - $1::float8 * interval '1 second')
