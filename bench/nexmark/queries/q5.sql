-- The auctions with the most bids in the last 10 seconds, every 2 seconds.
-- data: main
-- compare: append
WITH counted AS (
  SELECT auction, window_start, window_end, COUNT(*) AS num
  FROM TABLE(
    HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
),
highest AS (
  SELECT window_start, window_end, MAX(num) AS num
  FROM counted
  GROUP BY window_start, window_end
)
SELECT counted.auction, counted.num
FROM counted
JOIN highest ON counted.window_start = highest.window_start
  AND counted.window_end = highest.window_end
  AND counted.num >= highest.num
