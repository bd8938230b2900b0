-- People who came and put something up for auction within the same 10 seconds.
-- data: main
-- compare: append
WITH newcomer AS (
  SELECT id, name, window_start, window_end
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY id, name, window_start, window_end
),
seller AS (
  SELECT seller, window_start, window_end
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY seller, window_start, window_end
)
SELECT newcomer.id, newcomer.name, newcomer.window_start AS stime
FROM newcomer
JOIN seller ON newcomer.id = seller.seller
  AND newcomer.window_start = seller.window_start
  AND newcomer.window_end = seller.window_end
