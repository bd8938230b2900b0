"""Nexmark query 6: the average selling price per seller for their last ten closed auctions.

Reads the events as JSON lines and writes the rows, sorted: python3 q6.py EVENTS > ROWS
What the query means is said in bench/nexmark/README.md.
"""

# data: main
# compare: append

import json
import sys
from collections import defaultdict


def read(path):
    """All auctions by id, and all bids by auction."""
    auctions = {}
    bids = defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event_type"] == 1:
                auctions[event["auction"]["id"]] = event["auction"]
            elif event["event_type"] == 2:
                bids[event["bid"]["auction"]].append(event["bid"])
    return auctions, bids


def winning_price(auction, bids):
    """The highest price that was bid while the auction ran, or None.

    Times are text of one form, so they compare as times do.
    """
    valid = [b["price"] for b in bids if auction["dateTime"] <= b["dateTime"] <= auction["expires"]]
    return max(valid, default=None)


def rows(auctions, bids):
    closed = defaultdict(list)
    for auction in sorted(auctions.values(), key=lambda a: (a["expires"], a["id"])):
        price = winning_price(auction, bids[auction["id"]])
        if price is None:
            continue
        prices = closed[auction["seller"]]
        prices.append(price)
        last = prices[-10:]
        yield {
            "seller": auction["seller"],
            "avg_price": sum(last) // len(last),
            "auction": auction["id"],
        }


def main():
    auctions, bids = read(sys.argv[1])
    lines = [json.dumps(row, separators=(",", ":")) for row in rows(auctions, bids)]
    for line in sorted(lines):
        print(line)


if __name__ == "__main__":
    main()
