-- Settings of this transaction. They end with it, so they are safe behind a
-- pooler, and they override what the role or the database says.
--
-- The first six bound how long the transaction can hold row locks once its
-- relay is dead or frozen.
--
-- idle_in_transaction_session_timeout: the relay went silent while publishing.
--   It is longer than the window within which a batch is published.
-- statement_timeout, lock_timeout: no statement waits or runs for long. This is
--   the claim's; those that settle get less, in settling.sql.
-- tcp_user_timeout: the relay was stopped while it received a claim. The server
--   then sits in a write that no other limit ends.
-- tcp_keepalives_*: the relay's machine was frozen when the server had received a
--   part of what was sent at once. It then waits for the rest, which for none of
--   the limits is idle.
-- transaction_timeout, since PostgreSQL 17: longer than any batch needs, in place
--   of what the role may have.
--
-- The longest ways to free the locks are a claim that runs to its limit and then
-- cannot be sent, 10 s and 18 s, and three settling statements that do, 9 s and
-- 18 s: less than the 30 s that are promised.
--
-- enable_sort: a claim is to read the pending index in its order. Where the
--   statistics are old, the planner may think that few rows are left after the
--   floor and sort them, when in truth they are a million.
-- jit: compiling takes longer than any of the relay's statements.
SELECT set_config('idle_in_transaction_session_timeout', '20s', true),
       set_config('statement_timeout', '10s', true),
       set_config('lock_timeout', '2s', true),
       set_config('tcp_user_timeout', '18s', true),
       set_config('tcp_keepalives_idle', '8s', true),
       set_config('tcp_keepalives_interval', '4s', true),
       set_config('tcp_keepalives_count', '2', true),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '60s', true) END,
       set_config('enable_sort', 'off', true),
       set_config('jit', 'off', true)
