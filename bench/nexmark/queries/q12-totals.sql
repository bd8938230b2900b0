-- How many bids each person made: what the windows of query 12, by any clock, must add up to.
-- data: main
-- compare: upsert by bidder
SELECT bidder, COUNT(*) AS bid_count
FROM bid
GROUP BY bidder
