-- What stands where the outbox is to be.
--
-- $1 text its schema
-- $2 text its name
--
-- relkind: r a table, p a partitioned one, v a view; no row: nothing. Which
-- commands a view takes is a sum of 4 (UPDATE), 8 (INSERT) and 16 (DELETE); what
-- INSTEAD OF triggers do is left out, since such a view cannot lock rows.
SELECT c.oid::bigint AS oid,
       c.relkind::text AS kind,
       coalesce(pg_get_partkeydef(c.oid), '') AS partitioned_by,
       pg_relation_is_updatable(c.oid, false) AS takes
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text
  AND c.relname = $2::text
