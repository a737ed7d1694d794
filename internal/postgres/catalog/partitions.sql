-- The partitions of the outbox, with the bounds of those that are for a time.
--
-- $1 text the outbox's schema
-- $2 text its name
--
-- The server writes bounds as text in the session's TimeZone and DateStyle; both
-- were set for this transaction. MINVALUE, MAXVALUE and DEFAULT have no quotes,
-- and are no times.
SELECT n.nspname::text AS schema,
       p.relname::text AS name,
       (substring(bound FROM 'FROM \(''([^'']+)''\)'))::timestamptz AS lower,
       (substring(bound FROM 'TO \(''([^'']+)''\)'))::timestamptz AS upper,
       bound = 'DEFAULT' AS is_default
FROM pg_inherits AS h
JOIN pg_class AS p ON p.oid = h.inhrelid
JOIN pg_namespace AS n ON n.oid = p.relnamespace
JOIN pg_class AS c ON c.oid = h.inhparent
JOIN pg_namespace AS m ON m.oid = c.relnamespace,
     LATERAL (SELECT pg_get_expr(p.relpartbound, p.oid) AS bound) AS b
WHERE m.nspname = $1::text
  AND c.relname = $2::text
ORDER BY lower NULLS FIRST, p.relname
