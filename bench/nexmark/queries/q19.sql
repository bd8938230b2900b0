-- The ten highest bids for each auction.
-- data: main
-- compare: upsert by auction, rank_number
WITH ranked AS (
  SELECT *,
    ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number
  FROM bid
)
SELECT auction, bidder, price, channel, url, `dateTime`, extra, rank_number
FROM ranked
WHERE rank_number <= 10
