-- The bids for every 123rd auction.
-- data: main
-- compare: append
SELECT auction, price
FROM bid
WHERE MOD(auction, 123) = 0
