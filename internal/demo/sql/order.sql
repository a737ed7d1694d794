-- The business change. Its events are written in the same transaction.
--
-- $1 int  the order's number
-- $2 text the customer
-- $3 int  the price
INSERT INTO shop.orders (number, customer, cents)
VALUES ($1, $2, $3)
