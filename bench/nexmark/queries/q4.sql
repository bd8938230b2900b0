-- The average winning price in each category.
-- data: main
-- compare: upsert by id
WITH winning AS (
  SELECT auction.category, MAX(bid.price) AS price
  FROM auction
  JOIN bid ON bid.auction = auction.id
    AND bid.`dateTime` BETWEEN auction.`dateTime` AND auction.expires
  GROUP BY auction.id, auction.category
)
SELECT category AS id, AVG(price) AS final
FROM winning
GROUP BY category
