-- Finds the oldest transaction in this database that vacuum may have to wait for:
-- of another session, or a prepared one. Vacuum does not wait for its own workers.
-- It may also have to wait for a replication slot, or for a standby with
-- hot_standby_feedback, which have no transaction whose age could be told: the
-- dead rows show that.
--
-- Who is no member of pg_read_all_stats does not see since when the transactions
-- of other users are open. The statement is the last one, and says how long the
-- measurement took.
SELECT (SELECT min(since)
        FROM (SELECT xact_start AS since
              FROM pg_catalog.pg_stat_activity
              WHERE datname = current_database()
                AND pid <> pg_backend_pid()
                AND backend_type <> 'autovacuum worker'
              UNION ALL
              SELECT prepared
              FROM pg_catalog.pg_prepared_xacts
              WHERE database = current_database()) AS t) AS oldest_since,
       pg_has_role('pg_read_all_stats', 'USAGE') AS sees_all,
       now() AS began_at,
       clock_timestamp() AS measured_at,
       pg_is_in_recovery() AS standby
