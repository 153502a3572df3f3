"""Rows whose memory in use is the plan's, and that compute nothing twice."""

import json
import sys

MIB = 1 << 20
peaks = aliases = 0
for path in sys.argv[1:]:
    with open(path) as file:
        rows = json.load(file)["results"]
    for row in rows:
        assert "error" not in row, row
        assert len(row["plan"]) > 8, row
        assert row["recomputed_flops"] == 0, row
        assert row["max_live_mb"] <= row["work_mb"] <= 1.02 * row["max_live_mb"], row
        # Where a process may not reset its peak, there is none.
        if "peak_temp_mb" in row:
            assert row["peak_temp_mb"] < row["temp_mb"] + 1, row
            # All of the arena; the scratch of threads that came to work.
            assert row["peak_temp_mb"] > row["arena_mb"] - 1, row
            peaks += row["arena_mb"] > 2
        if row.get("variant") == "donate" or row["op"].startswith("fit"):
            assert row["alias_mb"] * MIB == 12 * row["params"] + 4, row
            aliases += 1
assert aliases == 3, aliases
print("%d peaks of more than 2 MiB" % peaks)
