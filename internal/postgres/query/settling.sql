-- Lowers the limit of a statement for those that settle a batch: there may be
-- three of them, one after the other, while the rows are locked.
SELECT set_config('statement_timeout', '3s', true)
