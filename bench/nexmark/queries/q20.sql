-- The bids for auctions of category 10, with the auction: an unbounded join.
-- data: main
-- compare: append
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url,
  bid.`dateTime` AS bid_dateTime, bid.extra AS bid_extra,
  auction.itemName, auction.description, auction.initialBid, auction.reserve,
  auction.`dateTime` AS auction_dateTime, auction.expires, auction.seller, auction.category,
  auction.extra AS auction_extra
FROM bid
JOIN auction ON bid.auction = auction.id
WHERE auction.category = 10
