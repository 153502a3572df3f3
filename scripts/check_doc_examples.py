#!/usr/bin/env python3
"""Runs the examples of a dialect page through heddle-opt.

Takes every ```mlir block that holds a whole function; blocks that are fragments
are skipped. Prints a line for each op whose section has no such example.

    check_doc_examples.py PAGE HEDDLE_OPT [ARG...]
"""

import re
import subprocess
import sys

BLOCK = re.compile(r"```mlir\n(.*?)```", re.DOTALL)


def main(page, command):
    with open(page) as file:
        text = file.read()
    failures = 0
    examples = 0
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        whole = [b for b in BLOCK.findall(section) if "func.func" in b]
        examples += len(whole)
        if title.startswith(("`heddle.", "`heddle_gpu.")) and not whole:
            print(f"no example of a whole function: {title}")
        for block in whole:
            run = subprocess.run(command, input=block, capture_output=True, text=True)
            if run.returncode != 0:
                failures += 1
                print(f"the example of {title} fails:\n{run.stderr}")
    print(f"{examples} examples, {failures} failures")
    return 1 if failures or not examples else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
