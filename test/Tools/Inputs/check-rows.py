"""Every row of a result file has every key, is correct and is consistent."""

import json
import math
import sys

KEYS = ("params finite rel_err max_abs_err trace_s compile_s first_call_s inner "
        "median_ms q1_ms q3_ms temp_mb arg_mb out_mb alias_mb work_mb "
        "max_live_mb footprint_mb check correct tag impl").split()

with open(sys.argv[1]) as file:
    document = json.load(file)
assert document["config"]["runs"], "no run is described"
assert document["device"]["threads"] == 2, document["device"]
rows = document["results"]
assert len(rows) == 12, len(rows)
for row in rows:
    missing = [key for key in KEYS if key not in row]
    assert not missing, (missing, row)
    assert row["correct"] and row["finite"], row
    assert 0 <= row["rel_err"] < 0.05 and math.isfinite(row["max_abs_err"]), row
    assert row["q1_ms"] <= row["median_ms"] <= row["q3_ms"], row
    assert 1 <= row["inner"] <= 200, row
    footprint = (row["arg_mb"] + row["out_mb"] + row["temp_mb"] -
                 row["alias_mb"])
    assert abs(row["footprint_mb"] - footprint) < 1e-9, row
    if row["suite"] == "attention":
        assert row["tflops"] > 0 and row["params"] == 0, row
    else:
        assert row["params"] == 2 * (12 * 64 * 64 + 13 * 64), row
