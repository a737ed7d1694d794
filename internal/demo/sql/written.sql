-- Which of these orders were committed, and so were their events: they are
-- written in one transaction, and nobody deletes an order.
--
-- $1 int[] the orders
SELECT number
FROM shop.orders
WHERE number = ANY ($1::int[])
