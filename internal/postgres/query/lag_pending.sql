-- Counts the pending rows that are lag and those of paused buses, and finds how
-- long the oldest of the former has been waiting.
--
-- $1 bigint the floor: rows up to this seq are not looked at
-- $2 text   the bus of rows without a topic
-- $3 bigint counts stop here; whether there is more is said of the lag
--
-- The first pending row is looked for by itself, since between the floor and it
-- there may be any number of entries of rows that were published; what follows
-- starts there. It may be one that is not due or is of a paused bus: only the
-- pending rows themselves are walked for those.
--
-- Which rows flow is what the claim decides, condition for condition, but for
-- the backoff. Without a paused bus nothing is walked to count theirs, and with
-- all of them paused nothing to count the others.
--
-- However few rows of paused buses there are, no more than twice $3 rows that are
-- due are looked at for them: they may be few among millions. The first that flow
-- are looked for as far as it takes, since the oldest may be behind any number of
-- rows that are paused or not due; that ends at the first $3, and one more.
--
-- The greatest seq is that of the same snapshot: where nothing is pending, all
-- rows to come have a greater one, but for those that commit late.
--
-- FOR KEY SHARE OF start locks nothing: start is no table. It makes the planner
-- keep published_at IS NULL as a condition of the index scan. Since the index
-- has only such rows it would drop it elsewhere, and then, before PostgreSQL 18,
-- read the index from its beginning to find a seq, which is the second column.
--
-- A time that is missing or infinite gives no age, and is counted. created_at is
-- returned for its type alone.
WITH first AS MATERIALIZED (
    SELECT seq
    FROM public.outbox, (SELECT) AS start
    WHERE published_at IS NULL
      AND seq > $1::bigint
    ORDER BY published_at, seq
    LIMIT 1
    FOR KEY SHARE OF start
),
due AS NOT MATERIALIZED (
    SELECT published_at, seq, created_at, deliver_after,
           coalesce(nullif(topic, ''), $2::text) NOT IN (SELECT p.topic::text FROM public.outbox_paused p)
               AND NOT EXISTS (SELECT FROM public.outbox_paused p WHERE p.topic = '*') AS flows
    FROM public.outbox
    WHERE published_at IS NULL
      AND seq >= (SELECT f.seq FROM first f)
      AND (deliver_after IS NULL OR deliver_after <= now())
)
SELECT min(created_at) AS created_at,
       now() AS measured_at,
       min(since) FILTER (WHERE isfinite(since)) AS oldest_since,
       count(*) AS unpublished,
       count(*) = $3::bigint
           AND (SELECT true
                FROM due AS d, (SELECT) AS start
                WHERE d.flows
                  AND d.seq > max(lag.seq)
                ORDER BY d.published_at, d.seq
                LIMIT 1
                FOR KEY SHARE OF start) IS NOT NULL AS is_lower_bound,
       (SELECT count(*)
        FROM (SELECT
              FROM (SELECT flows
                    FROM due, (SELECT) AS start
                    WHERE EXISTS (SELECT FROM public.outbox_paused)
                    ORDER BY published_at, seq
                    LIMIT 2 * $3::bigint
                    FOR KEY SHARE OF start) AS d
              WHERE flows IS NOT TRUE
              LIMIT $3::bigint) AS p) AS paused,
       coalesce((SELECT f.seq FROM first f)::bigint, 9223372036854775807) AS first,
       coalesce((SELECT o.seq
                 FROM public.outbox AS o
                 WHERE o.seq > $1::bigint
                 ORDER BY o.seq DESC
                 LIMIT 1)::bigint, $1::bigint) AS greatest
FROM (SELECT seq, created_at, greatest(created_at::timestamptz, deliver_after) AS since
      FROM due, (SELECT) AS start
      WHERE flows
      ORDER BY published_at, seq
      LIMIT $3::bigint
      FOR KEY SHARE OF start) AS lag
