-- Prices in euro.
-- data: main
-- compare: append
SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra
FROM bid
