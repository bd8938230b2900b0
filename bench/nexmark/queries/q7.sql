-- The highest bids of each 10 seconds.
-- data: main
-- compare: append
WITH highest AS (
  SELECT window_end, MAX(price) AS price
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
)
SELECT bid.auction, bid.bidder, bid.price, bid.`dateTime`, bid.extra
FROM bid
JOIN highest ON bid.price = highest.price
WHERE bid.`dateTime` BETWEEN highest.window_end - INTERVAL '10' SECOND AND highest.window_end
