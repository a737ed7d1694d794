-- Adds up the row versions that await a vacuum: n_dead_tup of the outbox, of all
-- its partitions and, where it is a view, of the tables beneath.
--
-- $1 text the outbox, as SQL writes its name
--
-- It also tells whether row-level security decides which rows this user sees, and
-- whether no policy lets it see any: an outbox that stands still would look empty.
--
-- The view pg_stat_all_tables would compute the counters of every table of the
-- database; the function behind it is asked for ours only. A standby counts none.
WITH RECURSIVE beneath AS (
    SELECT $1::text::regclass::oid AS relation
    UNION
    SELECT n.relation
    FROM beneath AS b,
         LATERAL (
             SELECT i.inhrelid AS relation
             FROM pg_catalog.pg_inherits AS i
             WHERE i.inhparent = b.relation
             UNION ALL
             SELECT d.refobjid
             FROM pg_catalog.pg_class AS v
             JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = v.oid
             JOIN pg_catalog.pg_depend AS d
               ON d.classid = 'pg_catalog.pg_rewrite'::regclass
              AND d.objid = r.oid
              AND d.refclassid = 'pg_catalog.pg_class'::regclass
             WHERE v.oid = b.relation
               AND v.relkind = 'v'
         ) AS n
)
SELECT coalesce(sum(pg_catalog.pg_stat_get_dead_tuples(relation)), 0)::bigint AS dead_rows,
       pg_catalog.row_security_active($1::text::regclass) AS filtered,
       pg_catalog.row_security_active($1::text::regclass) AND NOT EXISTS (
           SELECT
           FROM pg_catalog.pg_policy AS p
           CROSS JOIN LATERAL unnest(p.polroles) AS member(of)
           WHERE p.polrelid = $1::text::regclass
             AND p.polpermissive
             AND p.polcmd IN ('r', '*')
             AND (member.of = 0 OR pg_catalog.pg_has_role(member.of, 'USAGE'))
       ) AS hidden
FROM beneath
