-- The partitions of the outbox, with the bounds of those that are for a time.
--
-- $1 text the outbox's schema
-- $2 text its name
--
-- The server writes bounds as text in the session's TimeZone and DateStyle; both
-- were set for this transaction. MINVALUE, MAXVALUE and DEFAULT have no quotes;
-- they and infinity are no times.
SELECT n.nspname::text AS schema,
       p.relname::text AS name,
       CASE WHEN isfinite(begins) THEN begins END AS lower,
       CASE WHEN isfinite(ends) THEN ends END AS upper,
       bound = 'DEFAULT' AS is_default
FROM pg_inherits AS h
JOIN pg_class AS p ON p.oid = h.inhrelid
JOIN pg_namespace AS n ON n.oid = p.relnamespace
JOIN pg_class AS c ON c.oid = h.inhparent
JOIN pg_namespace AS m ON m.oid = c.relnamespace,
     LATERAL (SELECT pg_get_expr(p.relpartbound, p.oid) AS bound) AS b,
     LATERAL (SELECT (substring(bound FROM 'FROM \(''([^'']+)''\)'))::timestamptz AS begins,
                     (substring(bound FROM 'TO \(''([^'']+)''\)'))::timestamptz AS ends) AS t
WHERE m.nspname = $1::text
  AND c.relname = $2::text
ORDER BY lower NULLS FIRST, p.relname
