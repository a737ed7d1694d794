-- Gives the next statement what the ones before have left of the measurement's
-- time, so that the server is the first to end what takes too long.
--
-- $1 bigint the limit of the measurement in milliseconds
SELECT set_config('statement_timeout', greatest(1, least($1::bigint,
    $1::bigint - (1000 * extract(epoch FROM clock_timestamp() - now()))::bigint))::text, true)
