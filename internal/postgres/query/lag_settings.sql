-- Settings of a measurement's transaction. They end with it, so they are safe
-- behind a pooler, and they override what the role or the database says.
--
-- $1 bigint the limit of a statement in milliseconds
--
-- lock_timeout: a measurement waits for nobody but who changes the table itself.
-- transaction_timeout, since PostgreSQL 17: two of the statements can be long.
-- enable_sort, enable_bitmapscan: each statement is to read one index in its order,
--   however many rows the planner thinks that there are.
-- jit: compiling takes longer than any of the statements.
SELECT set_config('statement_timeout', ($1::bigint)::text, true),
       set_config('lock_timeout', '2s', true),
       set_config('idle_in_transaction_session_timeout', '10s', true),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', (2 * $1::bigint + 10000)::text, true) END,
       set_config('enable_sort', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('jit', 'off', true)
