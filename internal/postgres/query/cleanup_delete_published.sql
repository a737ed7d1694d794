-- Deletes published events that have expired, the oldest first, and passes over
-- those that others have locked.
--
-- $1 timestamptz, $2 bigint only events after this place, the last one of the
--                           batch before: the entries that deleted rows leave in
--                           the index are not walked again
-- $3 timestamptz, $4 bigint only events up to this place
-- $5 bigint                 at most so many
--
-- They are locked first and deleted then, so that a row which somebody else has
-- locked is neither waited for nor deleted. The row is found again by its seq:
-- a view has no ctid, and in a partitioned table that is not unique. The time is
-- compared again, and for equality: a row that was changed meanwhile stays.
--
-- It returns nothing where it found nothing, else how many rows were locked, how
-- many deleted, the place of the last one, and the seq of one that was not
-- deleted: a trigger may have dropped that.
WITH locked AS MATERIALIZED (
    SELECT published_at, seq
    FROM public.outbox
    WHERE published_at IS NOT NULL
      AND (published_at, seq) > ($1::timestamptz, $2::bigint)
      AND (published_at, seq) <= ($3::timestamptz, $4::bigint)
    ORDER BY published_at, seq
    LIMIT $5::bigint
    FOR UPDATE SKIP LOCKED
),
deleted AS (
    DELETE FROM public.outbox AS o
    USING locked AS l
    WHERE o.seq = l.seq
      AND o.published_at = l.published_at
    RETURNING o.seq
)
SELECT (SELECT count(*) FROM locked) AS locked,
       (SELECT count(*) FROM deleted) AS deleted,
       l.published_at,
       l.seq::bigint AS seq,
       (SELECT min(kept.seq)::bigint FROM locked AS kept WHERE kept.seq NOT IN (SELECT seq FROM deleted)) AS kept
FROM locked AS l
ORDER BY l.published_at DESC, l.seq DESC
LIMIT 1
