-- Whether somebody else is building an index on a table, or vacuums it.
--
-- $1 text the table, quoted as in SQL
--
-- Both hold this lock. Which of them it is, only a member of pg_read_all_stats
-- could see.
SELECT EXISTS (
    SELECT
    FROM pg_locks AS l
    WHERE l.relation = $1::text::regclass
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.mode = 'ShareUpdateExclusiveLock'
      AND l.granted
      AND l.pid <> pg_backend_pid()
) AS busy
