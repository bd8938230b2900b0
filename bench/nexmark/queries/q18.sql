-- The last bid of each bidder for each auction.
-- data: main
-- compare: upsert by bidder, auction
WITH ranked AS (
  SELECT *,
    ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS place
  FROM bid
)
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM ranked
WHERE place <= 1
