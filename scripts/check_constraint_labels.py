#!/usr/bin/env python3
"""Checks that every labelled constraint is documented, enforced and tested.

A label such as /*attention_c3*/ stands in the .td file that documents the rule,
in the verifier that enforces it and in the test that breaks it. Prints each
label that lacks one of the three and exits with 1 if there is one.

    check_constraint_labels.py ROOT
"""

import pathlib
import re
import sys

LABEL = re.compile(r"/\*([a-z_]+_c\d+)\*/")


def labels(paths):
    return {m for p in paths for m in LABEL.findall(p.read_text())}


def main(root):
    root = pathlib.Path(root)
    places = {
        "documented in include/": labels((root / "include/heddle/Dialect").rglob("*.td")),
        "enforced in lib/": labels((root / "lib/Dialect").rglob("*.[ch]*")),
        "broken by a test": labels((root / "test/Dialect").rglob("invalid*.mlir")),
    }
    every = set().union(*places.values())
    missing = [(label, place) for label in sorted(every)
               for place, found in places.items() if label not in found]
    for label, place in missing:
        print(f"{label} is not {place}")
    print(f"{len(every)} labels, {len(missing)} gaps")
    return 1 if missing or not every else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
