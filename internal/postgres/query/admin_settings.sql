-- Settings of the transaction of an operator's action. They end with it, so they
-- are safe behind a pooler, and they override what the role or the database says.
--
-- $1 bigint the limit of a statement, in milliseconds
--
-- The limits end the transaction, and with it its locks on failed events, once
-- its client is dead or frozen. A statement gets longer than the relay's: it may
-- have to look at every failed event, and to move a thousand large ones.
-- transaction_timeout, since PostgreSQL 17: longer than any action needs.
--
-- enable_sort, enable_seqscan, enable_bitmapscan: an action reads by the primary
--   key, in its order. Old statistics are not to talk the planner out of that:
--   where the failed table was empty, it would walk the whole outbox.
-- plan_cache_mode: a plan that knows the filters leaves out those that are not
--   set, and turns a thousand ids into uuids once. One that does not know them
--   does so for every row, which takes minutes.
-- jit: compiling takes longer than any of the statements.
SELECT set_config('idle_in_transaction_session_timeout', '20s', true),
       set_config('statement_timeout', $1::bigint::text || 'ms', true),
       set_config('lock_timeout', '5s', true),
       set_config('tcp_user_timeout', '18s', true),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '60s', true) END,
       set_config('enable_sort', 'off', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('jit', 'off', true)
