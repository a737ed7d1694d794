-- Settings of a measurement's transaction. They end with it, so they are safe
-- behind a pooler, and they override what the role or the database says.
--
-- $1 bigint the limit of the measurement in milliseconds
--
-- statement_timeout: for the first statement that measures; those after it get
--   what it has left, by lag_limit.sql.
-- lock_timeout: a measurement waits for nobody but who changes the table itself.
-- transaction_timeout, since PostgreSQL 17: in place of what the role may have. It
--   would end the session without saying which statement was slow.
-- enable_sort, enable_bitmapscan: each statement is to read one index in its order,
--   however many rows the planner thinks that there are.
-- jit: compiling takes longer than any of the statements.
SELECT set_config('statement_timeout', ($1::bigint)::text, true),
       set_config('lock_timeout', '2s', true),
       set_config('idle_in_transaction_session_timeout', '10s', true),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', ($1::bigint + 10000)::text, true) END,
       set_config('enable_sort', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('jit', 'off', true)
