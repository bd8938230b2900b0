-- Bids with the number of their channel.
-- data: main
-- compare: append
WITH numbered AS (
  SELECT auction, bidder, price, channel,
    CASE LOWER(channel)
      WHEN 'apple' THEN '0'
      WHEN 'google' THEN '1'
      WHEN 'facebook' THEN '2'
      WHEN 'baidu' THEN '3'
      ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)
    END AS channel_id
  FROM bid
)
SELECT auction, bidder, price, channel, channel_id
FROM numbered
WHERE channel_id IS NOT NULL
