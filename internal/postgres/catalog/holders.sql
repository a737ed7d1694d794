-- Who holds locks on the outbox, or on one of its partitions.
--
-- $1 text the outbox, quoted as in SQL
SELECT coalesce(string_agg(DISTINCT format('%s of %s (pid %s)', coalesce(nullif(a.application_name, ''), 'a session'), a.usename, a.pid), ', '), 'nobody any more') AS holders
FROM pg_locks AS l
JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.granted
  AND l.pid <> pg_backend_pid()
  AND (l.relation = $1::text::regclass
       OR l.relation IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::text::regclass))
