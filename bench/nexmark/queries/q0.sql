-- Passes the bids through.
-- data: main
-- compare: append
SELECT auction, bidder, price, `dateTime`, extra
FROM bid
