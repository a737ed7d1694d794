-- Settings of this transaction, in place of what the role or the database says.
--
-- $1 bigint the limit of a statement, in milliseconds
--
-- statement_timeout: bounds how long a batch works, and so how long it holds
--   row locks.
-- lock_timeout: rows that others have locked are passed over, so this is about
--   the table's own lock, and about what a trigger waits for.
-- idle_in_transaction_session_timeout: for a proxy that passes the statements on
--   one by one. They are sent at once, and among those the server never counts
--   as idle, however long the network takes (measured).
-- tcp_user_timeout, tcp_keepalives_*: as for the relay.
-- transaction_timeout, since PostgreSQL 17: for what no other limit ends. It
--   would end the session, so it leaves room for a slow commit.
-- synchronous_commit: locks last until the commit is done, so the commit does
--   not wait for the disk. Should the server crash, the last few batches may be
--   undone, all of each: the next run deletes those rows again.
-- enable_*: rows are to be found in the order of their index, and deleted one by
--   one by theirs. Where the statistics are old, the planner may think that
--   reading the whole table is cheaper.
-- jit: compiling takes longer than any of these statements.
SELECT set_config('statement_timeout', $1::bigint::text || 'ms', true),
       set_config('lock_timeout', ($1::bigint / 2)::text || 'ms', true),
       set_config('idle_in_transaction_session_timeout', '10s', true),
       set_config('tcp_user_timeout', '18s', true),
       set_config('tcp_keepalives_idle', '8s', true),
       set_config('tcp_keepalives_interval', '4s', true),
       set_config('tcp_keepalives_count', '2', true),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', ($1::bigint + 2000)::text || 'ms', true) END,
       set_config('synchronous_commit', 'off', true),
       set_config('enable_sort', 'off', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true),
       set_config('jit', 'off', true)
