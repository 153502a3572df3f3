"""Runs heddle-bench, JAX and PyTorch row by row on the same cores.

For every row that --suite, --filter and --set choose, each implementation is
measured in turn, so that a change of the machine's load meets all of them. The
rows of all go into one result file, in the schema of heddle-bench.

    benchmarks/peers/setup.sh
    ~/.cache/heddle-peers/bin/python benchmarks/peers/run_interleaved.py \\
        --suite=transformer --filter=tokens=256 -o build/peers.json
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import common

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = {"jax": "jax_cpu.py", "torch": "torch_cpu.py"}


class Peer:
    """A peer's process, which takes one row at a time."""

    def __init__(self, name, options):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, PEERS[name]), "--serve",
             "--threads=%d" % options.threads,
             "--repeats=%d" % options.repeats,
             "--warmup=%d" % options.warmup, "--seed=%d" % options.seed,
             "--tools=" + os.path.dirname(os.path.abspath(options.bench))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.device = self.answer()["device"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("run_interleaved.py: error: expected an answer of %s, it "
                     "ended with status %s; run benchmarks/peers/setup.sh"
                     % (PEERS[self.name], self.process.wait()))
        return json.loads(line)

    def measure(self, row):
        self.process.stdin.write(json.dumps(row) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def bench_command(options):
    return [options.bench, "--threads=%d" % options.threads,
            "--repeats=%d" % options.repeats, "--warmup=%d" % options.warmup,
            "--seed=%d" % options.seed]


def selection(options):
    return (["--suite=" + options.suite] +
            ["--filter=" + text for text in options.filter] +
            ["--set=" + text for text in options.set])


def run_bench(options, arguments):
    """The result file of one heddle-bench run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        done = subprocess.run(bench_command(options) + arguments + ["-o", path],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True)
        if not os.path.exists(path):
            sys.exit(done.stderr.strip() or "heddle-bench wrote no rows")
        with open(path) as file:
            return json.load(file)


def run_heddle(options, row):
    """Selects exactly `row`: by its values, and by --set where it was set."""
    overridden = {text.split("=", 1)[0] for text in options.set}
    arguments = ["--suite=" + row["suite"], "--check=" + options.check]
    for key in common.DESCRIPTIVE:
        if key not in row:
            continue
        value = row[key]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments.append("--%s=%s=%s" % (
            "set" if key in overridden else "filter", key, text))
    return run_bench(options, arguments)["results"]


def describe(row):
    return " ".join("%s=%s" % (key, row[key]) for key in common.DESCRIPTIVE
                    if key in row and key != "impl")


def print_row(rows):
    for row in rows:
        figure = ("error: " + row["error"] if "error" in row
                  else "%.3f ms" % row["median_ms"])
        print("    %-12s %s" % (row["impl"], figure), flush=True)


def geometric(values):
    mean = math.exp(sum(map(math.log, values)) / len(values))
    return "%.2f (%.2f to %.2f, rows: %d)" % (mean, min(values), max(values),
                                             len(values))


def print_summary(results):
    """Geometric means of peer / heddle per suite and peer: of the times, and of
    trace and compile times where the peer compiles."""
    times, compiles = {}, {}
    by_work = {}
    for row in results:
        if "error" not in row:
            work = {key: row.get(key) for key in common.DESCRIPTIVE
                    if key not in ("impl", "attention")}
            work["plain"] = row.get("attention") == "no_attention"
            by_work.setdefault(json.dumps(work), {})[row["impl"]] = row
    for rows in by_work.values():
        ours = rows.pop("heddle", None)
        for impl, row in rows.items() if ours else ():
            key = (row["suite"], impl)
            times.setdefault(key, []).append(
                row["median_ms"] / ours["median_ms"])
            if row["compile_s"]:
                compiles.setdefault(key, []).append(
                    (row["trace_s"] + row["compile_s"]) /
                    (ours["trace_s"] + ours["compile_s"]))
    print("geometric means of theirs / ours")
    for key in sorted(times):
        print("  %s beside %s: time %s" % (*key, geometric(times[key])))
        if key in compiles:
            print("  %s beside %s: trace + compile %s"
                  % (*key, geometric(compiles[key])))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--peers", default="jax,torch")
    parser.add_argument("--bench",
                        default=os.path.join(ROOT, "build/bin/heddle-bench"))
    parser.add_argument("--check", default="auto",
                        help="heddle-bench's --check")
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.5,
                        help="seconds between runs, in which idle threads of "
                        "the one before stop spinning")
    parser.add_argument("--minutes", type=float, default=math.inf,
                        help="no row starts later; those left are named")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in PEERS:
            parser.error("expected a peer (%s), got '%s'"
                         % (", ".join(PEERS), name))
    if not os.path.exists(options.bench):
        parser.error("expected heddle-bench at %s; build it, or pass --bench"
                     % options.bench)
    return options


def main():
    options = parse()
    common.limit_cores(options.threads)
    listed = run_bench(options, ["--list"] + selection(options))
    rows = [row for row in listed["results"] if common.supported(row)]
    if not rows:
        sys.exit("expected forward rows, training steps or scans, the filters "
                 "leave none")
    peers = [Peer(name, options) for name in options.peers]
    device = dict(listed["device"])
    for peer in peers:
        device.update({key: value for key, value in peer.device.items()
                       if key not in device})
    results = []
    start = time.monotonic()
    for number, row in enumerate(rows, 1):
        if time.monotonic() - start > 60 * options.minutes:
            print("[%d/%d] not reached in %g minutes: %s"
                  % (number, len(rows), options.minutes, describe(row)))
            continue
        print("[%d/%d] %s" % (number, len(rows), describe(row)), flush=True)
        measured = run_heddle(options, row)
        print_row(measured)
        for peer in peers:
            if not common.supported(row, peer.name):
                continue
            time.sleep(options.pause)
            answer = peer.measure(row)
            print_row([answer])
            measured.append(answer)
        time.sleep(options.pause)
        results += measured
        # Results say what was asked for, not where this machine keeps it.
        asked = {key: value for key, value in vars(options).items()
                 if key not in ("bench", "output", "minutes")}
        common.write_results(options.output, device, [asked], results)
    for peer in peers:
        peer.close()
    print_summary(results)
    bad = [row for row in results
           if "error" in row or row.get("correct") is False]
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
