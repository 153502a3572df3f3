"""Draws what heddle-bench --plot hands over.

    plot.py DATA.json FOLDER

writes, per suite, times, temporaries and ratios as <suite>_<what>.png.
"""

import json
import os
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("plot.py: error: expected matplotlib in %s, found none; install "
             "python3-matplotlib, or set HEDDLE_PYTHON to an interpreter that "
             "has it" % sys.executable)

# Colours that stay apart for colour-blind readers (Okabe and Ito, 2008).
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9",
           "#F0E442", "#000000"]


def memory(figures):
    """What the work keeps alive: ours by plan, others' temporaries."""
    return figures.get("work_mb", figures.get("temp_mb"))


def bars(title, label, entries, value, path, log=True, line=None):
    """One group of bars per entry; nothing where no entry has a value."""
    impls = []
    for entry in entries:
        for figures in entry["impls"]:
            if value(entry, figures) and figures["impl"] not in impls:
                impls.append(figures["impl"])
    if not impls:
        return False
    width = 0.8 / len(impls)
    figure, axes = plt.subplots(
        figsize=(8, 1.2 + 0.22 * len(entries) * max(len(impls), 2)))
    for i, impl in enumerate(impls):
        positions, lengths = [], []
        for row, entry in enumerate(entries):
            for figures in entry["impls"]:
                if figures["impl"] == impl and value(entry, figures):
                    positions.append(row + (i - (len(impls) - 1) / 2) * width)
                    lengths.append(value(entry, figures))
        axes.barh(positions, lengths, width, label=impl,
                  color=COLOURS[i % len(COLOURS)])
    axes.set_yticks(range(len(entries)), [entry["row"] for entry in entries],
                    fontsize=6)
    axes.invert_yaxis()
    if log:
        axes.set_xscale("log")
    if line:
        axes.axvline(line, color="black", linewidth=0.8)
    axes.set_xlabel(label)
    axes.set_title(title)
    axes.legend(fontsize=7)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return True


def ratio(entry, figures):
    ours = entry["impls"][0].get("median_ms")
    theirs = figures.get("median_ms")
    if figures["impl"] == "heddle" or not ours or not theirs:
        return None
    return theirs / ours


def main():
    if len(sys.argv) != 3:
        sys.exit("plot.py: error: expected DATA.json and FOLDER")
    with open(sys.argv[1]) as file:
        data = json.load(file)
    suites = {}
    for entry in data:
        suites.setdefault(entry["suite"], []).append(entry)
    for suite, entries in suites.items():
        place = lambda what: os.path.join(sys.argv[2],
                                          "%s_%s.png" % (suite, what))
        bars(suite + ": time", "ms", entries,
             lambda entry, figures: figures.get("median_ms"), place("time"))
        bars(suite + ": temporaries", "MiB", entries,
             lambda entry, figures: memory(figures), place("memory"))
        bars(suite + ": their time / ours", "above one: Heddle is faster",
             entries, ratio, place("ratio"), line=1)


if __name__ == "__main__":
    main()
