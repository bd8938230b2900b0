-- How many bids a person made in each session: until 10 seconds without one.
-- data: main
-- compare: append
SELECT bidder, COUNT(*) AS bid_count,
  SESSION_START(`dateTime`, INTERVAL '10' SECOND) AS starttime,
  SESSION_END(`dateTime`, INTERVAL '10' SECOND) AS endtime
FROM bid
GROUP BY bidder, SESSION(`dateTime`, INTERVAL '10' SECOND)
