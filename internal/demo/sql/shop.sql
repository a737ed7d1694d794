-- The application's own table, in a schema of its own: the producers' login
-- owns it and runs this.
CREATE TABLE shop.orders (
    number   int PRIMARY KEY,
    customer text NOT NULL,
    cents    int NOT NULL
)
