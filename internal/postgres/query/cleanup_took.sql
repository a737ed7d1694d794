-- Tells how long this transaction has taken by now, in microseconds, by the
-- server's clock: what the network takes is not in it. It is a statement of its
-- own since triggers run after the last row of the one that deletes.
SELECT (extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000000)::bigint AS took
