"""Counts the views of each campaign in each ten seconds, from the log of the events.

    python3 recount.py EVENTS > COUNTS              writes the counts, sorted
    python3 recount.py EVENTS --against ROWS        compares them with what a pipeline wrote

EVENTS has an event a line, as the source `ysb` writes them. A row of either is
{"campaign_id":"...","window_time":...,"seen_count":...}, with the window's start in milliseconds.
This is the benchmark's own check (`dostats` and `check-correct` of its `core.clj`): it knows
nothing of watermarks, windows or keys, and counts every view once, however late it came.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

WINDOW = 10_000
TABLE = Path(__file__).with_name("ad-to-campaign-ids.txt")


def campaigns():
    """The campaign of each advertisement; a line of the file has one, as a JSON object."""
    table = {}
    with open(TABLE, encoding="ascii") as lines:
        for line in lines:
            table.update(json.loads(line))
    return table


def recount(path):
    """The views by campaign and window."""
    table = campaigns()
    counts = Counter()
    with open(path, encoding="ascii") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event_type"] == "view":
                time = int(event["event_time"])
                counts[table[event["ad_id"]], time - time % WINDOW] += 1
    return counts


def written(path):
    """The counts that a pipeline wrote. A window that it wrote twice would count double."""
    counts = Counter()
    twice = []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            row = json.loads(line)
            window = row["campaign_id"], row["window_time"]
            if window in counts:
                twice.append(window)
            counts[window] += row["seen_count"]
    return counts, twice


def compare(expected, path):
    """Prints what differs; whether nothing does."""
    found, twice = written(path)
    for window in twice:
        print("written twice:", *window)
    differing = [w for w in sorted(expected | found) if expected[w] != found[w]]
    for window in differing[:20]:
        print(*window, "expected", expected[window], "found", found[window])
    print(
        f"{len(expected)} windows, {sum(expected.values())} views; found {len(found)} windows, "
        f"{sum(found.values())} views; {len(differing)} differ, {len(twice)} written twice"
    )
    return not differing and not twice


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("events")
    parser.add_argument("--against", metavar="ROWS")
    arguments = parser.parse_args()
    counts = recount(arguments.events)
    if arguments.against:
        sys.exit(0 if compare(counts, arguments.against) else 1)
    for (campaign, window), count in sorted(counts.items()):
        row = {"campaign_id": campaign, "window_time": window, "seen_count": count}
        print(json.dumps(row, separators=(",", ":")))


if __name__ == "__main__":
    main()
