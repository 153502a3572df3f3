"""Compiles everything that benchmarks/device.sh needs on a machine with a GPU,
on one without.

The folder holds the runner, a bundle per row of the suites, a bundle per small
function whose results are checked, with the values that the reference device
computes for it, and manifest.json. Inputs are drawn from seeds, the same on
every machine.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TABLE = os.path.join(ROOT, "test/Integration/CPU/Inputs/attention-table.py")
# A folder travels to the device in one go.
MOST_BYTES = 64 << 20

# Comments of the tables that ask for more than drawn inputs and the reference.
NOTES = "INPUT|EXPECT|REFERENCE|ERROR"

ROWS = ["--filter=mode=fwd", "--filter=op=forward",
        "--filter=attention=heddle", "--filter=dtype=bfloat16,float32"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.strip()


def must(command):
    code, out, err = run(command)
    if code:
        sys.exit("prepare.py: error: %s gives %d\n%s" % (" ".join(command), code, err))
    return out


def value_of(text):
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdigit() else text


def row_of(path):
    """The row that a graph of heddle-bench is for, from its first line."""
    with open(path) as file:
        words = file.readline().lstrip("/ ").split()
    row = {"suite": words[0], "impl": "heddle"}
    row.update((key, value_of(text)) for key, text in
               (word.split("=", 1) for word in words[1:]))
    return row


class Folder:
    def __init__(self, options):
        self.options = options
        self.path = options.folder

    def at(self, *parts):
        return os.path.join(self.path, *parts)

    def tool(self, name):
        return os.path.join(self.options.bin, name)

    def compile(self, source, bundle):
        """None, or why it does not compile."""
        command = [self.tool("heddle-compile"), source, "-o", self.at(bundle),
                   "--target=" + self.options.target]
        if self.options.cubin:
            command.append("--cubin")
        code, _, err = run(command)
        return err or "exit status %d" % code if code else None

    def rows(self, pool):
        graphs = self.at("graphs")
        must([self.tool("heddle-bench"), "--suite=" + self.options.suite,
              "--plan-only", "--emit-mlir=" + graphs,
              "-o", self.at("graphs.json")] + ROWS +
             ["--filter=" + text for text in self.options.filter] +
             ["--set=" + text for text in self.options.set])
        os.remove(self.at("graphs.json"))
        os.makedirs(self.at("rows"), exist_ok=True)

        def one(name):
            row = row_of(os.path.join(graphs, name))
            bundle = os.path.join("rows", name.replace(".mlir", ".heddle"))
            error = self.compile(os.path.join(graphs, name), bundle)
            return {"row": row, "model": bundle,
                    **({"error": error} if error else {})}

        found = list(pool.map(one, sorted(os.listdir(graphs))))
        shutil.rmtree(graphs)
        # The longest first: they are what a short run is for.
        return sorted(found, key=lambda entry: (
            -entry["row"].get("seq", entry["row"].get("tokens", 0)),
            entry["row"]["suite"]))

    def numerics(self, pool):
        """Functions that need no inputs of their own, one bundle each."""
        os.makedirs(self.at("numerics"), exist_ok=True)
        functions = {}
        texts = [must([sys.executable, TABLE, part])
                 for part in ("masks", "shapes")]
        for path in self.options.model:
            with open(path) as file:
                texts.append(file.read())
        noted = False
        for text in texts:
            for part in re.split(r"(?m)^(?=func\.func |// (?:%s) ?\d*: )" % NOTES, text):
                name = re.match(r"func\.func @(\w+)", part)
                if name and not noted and re.search(self.options.match,
                                                    name.group(1)):
                    functions[name.group(1)] = part
                noted = not name and bool(re.match(r"// (?:%s)" % NOTES, part))

        def one(name):
            source = self.at("numerics", name + ".mlir")
            with open(source, "w") as file:
                file.write(functions[name])
            entry = {"name": name, "model": "numerics/%s.heddle" % name}
            error = self.compile(source, entry["model"])
            results = functions[name].split("{\n", 1)[0].partition("->")[2]
            entry["expected"] = ["numerics/%s.%d.npy" % (name, i) for i in
                                 range(len(re.findall(r"tensor<", results)))]
            if not error:
                code, _, err = run(
                    [self.tool("heddle-run"), source, "--device=reference"] +
                    ["--output=@" + self.at(p) for p in entry["expected"]])
                error = err if code else None
            os.remove(source)
            return {**entry, **({"error": error} if error else {})}

        return list(pool.map(one, sorted(functions)))


def parse():
    parser = argparse.ArgumentParser(
        prog="device_bundle.sh", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/bin"),
                        help="heddle-compile, heddle-run and heddle-bench")
    parser.add_argument("--runner", required=True,
                        help="heddle-run that goes along")
    parser.add_argument("--target", default="sm_80,sm_90")
    parser.add_argument("--cubin", action="store_true",
                        help="machine code beside the PTX; needs ptxas")
    parser.add_argument("--suite", default="attention,transformer")
    parser.add_argument("--filter", action="append", default=[],
                        help="of heddle-bench")
    parser.add_argument("--set", action="append", default=[],
                        help="of heddle-bench")
    parser.add_argument("--match", default="",
                        help="names of the functions whose results are checked")
    parser.add_argument("--model", action="append", default=[],
                        help="file of functions to check beside these")
    parser.add_argument("--jobs", type=int,
                        default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def main():
    options = parse()
    folder = Folder(options)
    if os.path.exists(options.folder) and os.listdir(options.folder):
        sys.exit("device_bundle.sh: error: expected a new or empty folder, '%s' "
                 "holds files; remove them or choose another" % options.folder)
    os.makedirs(folder.at("bin"))
    shutil.copy2(options.runner, folder.at("bin", "heddle-run"))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        manifest = {"target": options.target, "numerics": folder.numerics(pool),
                    "rows": folder.rows(pool)}
    with open(folder.at("manifest.json"), "w") as file:
        json.dump(manifest, file, indent=1)
    size = sum(os.path.getsize(os.path.join(where, name))
               for where, _, names in os.walk(options.folder) for name in names)
    failed = [entry for entry in manifest["rows"] + manifest["numerics"]
              if "error" in entry]
    for entry in failed:
        print("no bundle: %s\n  %s" % (entry["model"], entry["error"]),
              file=sys.stderr)
    print("%d rows and %d checked functions, %.1f MiB, %d without a bundle; next: "
          "benchmarks/device.sh %s" %
          (len(manifest["rows"]), len(manifest["numerics"]), size / (1 << 20),
           len(failed), options.folder))
    if size > MOST_BYTES:
        sys.exit("device_bundle.sh: error: expected at most %d MiB, got %.1f; "
                 "choose fewer rows with --filter or one --target" %
                 (MOST_BYTES >> 20, size / (1 << 20)))


main()
