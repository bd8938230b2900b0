-- The winning bid of each auction.
-- data: main
-- compare: upsert by id
WITH ranked AS (
  SELECT auction.*,
    bid.auction, bid.bidder, bid.price, bid.`dateTime` AS bid_dateTime, bid.extra AS bid_extra,
    ROW_NUMBER() OVER (
      PARTITION BY auction.id ORDER BY bid.price DESC, bid.`dateTime` ASC) AS place
  FROM auction
  JOIN bid ON bid.auction = auction.id
    AND bid.`dateTime` BETWEEN auction.`dateTime` AND auction.expires
)
SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra
FROM ranked
WHERE place <= 1
