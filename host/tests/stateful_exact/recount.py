"""What the pipeline of these tests should write, by a program that shares nothing with it.

Usage: recount.py INPUT FOLDER: writes counts.txt, windows.txt, sessions.txt and totals.txt, each
sorted by line.
"""

import collections
import json
import pathlib
import sys

TUMBLING, SLIDING, EVERY, GAP = 1_000, 4_000, 1_000, 700

counts, windows, totals, times = [], collections.Counter(), {}, collections.defaultdict(list)
seen = collections.Counter()
for line in open(sys.argv[1]):
    record = json.loads(line)
    key, time = record["k"], record["t"]
    seen[key] += 1
    counts.append((key, seen[key], time))
    windows[key, time - time % TUMBLING] += 1
    times[key].append(time)
    for begin in range(time - time % EVERY - SLIDING + EVERY, time + 1, EVERY):
        count, total = totals.get((key, begin), (0, 0))
        totals[key, begin] = (count + 1, total + seen[key])

sessions = []
for key, all_times in times.items():
    all_times.sort()
    begin, last, count = all_times[0], all_times[0], 0
    for time in all_times:
        if time - last > GAP:
            sessions.append((key, begin, count))
            begin, count = time, 0
        last = time
        count += 1
    sessions.append((key, begin, count))


def write(name, lines):
    path = pathlib.Path(sys.argv[2], name)
    path.write_text("".join(line + "\n" for line in sorted(lines)))


write("counts.txt", (f"{key} {count} {time}" for key, count, time in counts))
write("windows.txt", (f"{key} {begin} {count}" for (key, begin), count in windows.items()))
write("sessions.txt", (f"{key} {begin} {count}" for key, begin, count in sessions))
write("totals.txt", (
    f"{key} {begin + SLIDING - 1} {count} {total}"
    for (key, begin), (count, total) in totals.items()))
