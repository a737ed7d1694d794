-- What stands where the outbox is to be.
--
-- $1 text its schema
-- $2 text its name
--
-- relkind: r a table, p a partitioned one, v a view; no row: nothing. Which
-- commands a view takes by itself is a sum of 4 (UPDATE), 8 (INSERT) and 16
-- (DELETE). A trigger INSTEAD OF them, which is bit 64 of its type, or a rule,
-- decides by itself what it does.
SELECT c.oid::bigint AS oid,
       c.relkind::text AS kind,
       coalesce(pg_get_partkeydef(c.oid), '') AS partitioned_by,
       pg_relation_is_updatable(c.oid, false) AS takes,
       EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgtype::int & 64 <> 0)
           OR EXISTS (SELECT FROM pg_rewrite AS w WHERE w.ev_class = c.oid AND w.ev_type <> '1') AS instead,
       EXISTS (
           SELECT
           FROM pg_index AS x
           JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
           WHERE x.indrelid = c.oid
             AND x.indisunique
             AND x.indisvalid
             AND x.indpred IS NULL
             AND a.attname = 'seq'
       ) AS numbered
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text
  AND c.relname = $2::text
