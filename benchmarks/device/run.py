"""Checks and times the bundles of benchmarks/device_bundle.sh on a GPU, beside
other implementations where these are installed.

The functions whose results are known run first, then the rows: each row by
Heddle and by every peer in turn, so that a change of clocks meets all of them.
What is not done when the time is up is left out and counted.
"""

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS_DIR = os.path.join(os.path.dirname(HERE), "peers")
PEERS = {"torch_flash": ["torch_cuda.py", "--backend=flash"],
         "torch_efficient": ["torch_cuda.py", "--backend=efficient"],
         "torch_cudnn": ["torch_cuda.py", "--backend=cudnn"],
         "torch_math": ["torch_cuda.py", "--backend=math"],
         "jax_xla": ["jax_cuda.py", "--backend=xla"],
         "jax_cudnn": ["jax_cuda.py", "--backend=cudnn"],
         "flash_attn": ["flash_attn_cuda.py"],
         "triton": ["triton_cuda.py"]}
KEYS = ("suite attention dtype head_dim seq causal mode tokens batch heads "
        "model_dim layers op").split()


class Absent(Exception):
    pass


class Process:
    """A program that answers lines of JSON with lines of JSON."""

    def __init__(self, name, command):
        self.name = name
        self.errors = queue.Queue()
        self.answers = queue.Queue()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        for stream, to in ((self.process.stdout, self.answers),
                           (self.process.stderr, self.errors)):
            threading.Thread(target=self.read, args=(stream, to),
                             daemon=True).start()

    @staticmethod
    def read(stream, to):
        for line in stream:
            to.put(line)
        to.put(None)

    def last_error(self):
        lines = []
        while not self.errors.empty():
            lines.append(self.errors.get() or "")
        text = [line.strip() for line in lines if line.strip()]
        return text[-1] if text else "it says nothing"

    def answer(self, seconds):
        try:
            line = self.answers.get(timeout=max(seconds, 0.1))
        except queue.Empty:
            self.close()
            raise Absent("no answer in %d s" % seconds)
        if line is None:
            self.process.wait()
            time.sleep(0.1)
            raise Absent(self.last_error())
        return json.loads(line)

    def ask(self, request, seconds):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise Absent(self.last_error())
        return self.answer(seconds)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Run:
    def __init__(self, options):
        self.options = options
        self.start = time.monotonic()
        with open(os.path.join(options.folder, "manifest.json")) as file:
            self.manifest = json.load(file)
        self.document = {"device": {"backend": "gpu"},
                         "config": {"runs": [vars(options)]}, "absent": {},
                         "numerics": [], "results": []}
        self.skipped = 0

    def left(self):
        return 60 * self.options.minutes - (time.monotonic() - self.start)

    def save(self):
        path = self.options.output
        with open(path + ".tmp", "w") as file:
            json.dump(self.document, file, indent=1)
            file.write("\n")
        os.replace(path + ".tmp", path)

    def path(self, name):
        return os.path.join(self.options.folder, name)

    def open_heddle(self):
        self.heddle = Process("heddle", [
            self.path("bin/heddle-run"), "--serve",
            "--device=" + self.options.device])

    def ask_heddle(self, request):
        try:
            return self.heddle.ask(request, min(self.left(), 60))
        except Absent as why:
            # A lost context must not take the other rows along.
            self.heddle.close()
            self.open_heddle()
            return {"error": str(why)}

    def numerics(self):
        for entry in self.manifest["numerics"]:
            if self.left() < 0:
                self.skipped += 1
                continue
            result = {"name": entry["name"]}
            answer = {"error": entry["error"]} if "error" in entry else \
                self.ask_heddle({"model": self.path(entry["model"]),
                                 "expected": [self.path(p) for p in
                                              entry["expected"]]})
            if "error" in answer:
                result["error"] = answer["error"]
            else:
                self.document["device"]["device_kind"] = answer["device_name"]
                result["rel_err"] = max(
                    (c["rel_err"] for c in answer["checks"]), default=0.0)
                result["passed"] = all(c["passed"] for c in answer["checks"])
                if not result["passed"]:
                    result["worst"] = next(c["worst"] for c in answer["checks"]
                                           if not c["passed"])
            self.document["numerics"].append(result)
        self.save()

    def open_peers(self):
        peers = []
        for name in self.options.peers:
            peer = Process(name, [
                self.options.python, os.path.join(PEERS_DIR, PEERS[name][0]),
                *PEERS[name][1:], "--serve", "--repeats=%d" % self.options.repeats,
                "--check-length=1024"])
            peers.append(peer)
        ready = []
        for peer in peers:  # they start side by side
            try:
                device = peer.answer(min(self.left(), 90))["device"]
                for key, value in device.items():
                    self.document["device"].setdefault(key, value)
                ready.append(peer)
            except Absent as why:
                self.document["absent"][peer.name] = str(why)
        return ready

    def measure(self, entry):
        row = dict(entry["row"])
        if "error" in entry:
            return {**row, "error": entry["error"]}
        answer = self.ask_heddle({"model": self.path(entry["model"]),
                                  "repeats": self.options.repeats, "inner": 0})
        if "error" in answer:
            return {**row, "error": answer["error"]}
        for key in ("inner", "median_ms", "q1_ms", "q3_ms", "image"):
            if key in answer:
                row[key] = answer[key]
        row["finite"] = all(r["finite"] for r in answer["results"])
        if row["suite"] == "attention":
            flops = (4.0 * row["batch"] * row["heads"] * row["seq"]**2 *
                     row["head_dim"] * (0.5 if row["causal"] else 1.0))
            row["tflops"] = flops / row["median_ms"] * 1e-9
        return row

    def rows(self):
        peers = self.open_peers()
        for entry in self.manifest["rows"]:
            if self.left() < 0:
                self.skipped += 1
                continue
            self.document["results"].append(self.measure(entry))
            for peer in list(peers):
                if self.left() < 0:
                    break
                try:
                    self.document["results"].append(
                        peer.ask(entry["row"], min(self.left(), 60)))
                except Absent as why:
                    self.document["absent"][peer.name] = str(why)
                    peers.remove(peer)
            self.save()
        for peer in peers:
            peer.close()


def work_of(row):
    return json.dumps([row.get(key) for key in KEYS if key != "attention"])


def describe(row):
    return " ".join("%s=%s" % (key, row[key]) for key in KEYS if key in row and
                    key not in ("attention", "mode", "op", "layers"))


def print_tables(document, skipped, out):
    numerics = document["numerics"]
    bad = [n for n in numerics if not n.get("passed")]
    print("checked functions: %d of %d within their limits"
          % (len(numerics) - len(bad), len(numerics)), file=out)
    for entry in bad:
        print("  %s: %s" % (entry["name"], entry.get("error") or entry["worst"]),
              file=out)
    for name, why in document["absent"].items():
        print("without %s: %s" % (name, why), file=out)
    by_work = {}
    for row in document["results"]:
        by_work.setdefault(work_of(row), []).append(row)
    print("%-66s %10s %9s  %s" % ("row", "ms", "TFLOP/s",
                                  "others in ms (theirs / ours)"), file=out)
    ratios = {}
    for rows in by_work.values():
        ours = next((r for r in rows if r["impl"] == "heddle"), rows[0])
        if "median_ms" not in ours:
            print("%-66s %s" % (describe(ours), ours.get("error")), file=out)
            continue
        others = []
        for row in rows:
            if row is ours or not row.get("median_ms"):
                continue
            ratio = row["median_ms"] / ours["median_ms"]
            ratios.setdefault(row["impl"], []).append(ratio)
            others.append("%s %.3f (%.2f)" % (row["impl"], row["median_ms"], ratio))
        print("%-66s %10.3f %9s  %s" % (
            describe(ours), ours["median_ms"],
            "%.1f" % ours["tflops"] if "tflops" in ours else "-",
            ", ".join(others)), file=out)
    for impl, values in sorted(ratios.items()):
        print("geometric mean of %s / heddle: %.3f (rows: %d)" % (
            impl, math.exp(sum(map(math.log, values)) / len(values)),
            len(values)), file=out)
    if skipped:
        print("left out when the time was up: %d" % skipped, file=out)


def parse():
    parser = argparse.ArgumentParser(
        prog="device.sh", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="made by benchmarks/device_bundle.sh")
    parser.add_argument("-o", "--output", default="device.json")
    parser.add_argument("--minutes", type=float, default=7.5)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--peers", default=",".join(PEERS),
                        help="of %s; none" % ", ".join(PEERS))
    parser.add_argument("--python", default=sys.executable,
                        help="that has the peers")
    options = parser.parse_args()
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    for name in options.peers:
        if name not in PEERS:
            parser.error("expected a peer (%s), got '%s'"
                         % (", ".join(PEERS), name))
    if not os.path.exists(os.path.join(options.folder, "manifest.json")):
        sys.exit("device.sh: error: expected a folder of "
                 "benchmarks/device_bundle.sh, found no manifest.json in '%s'"
                 % options.folder)
    return options


def main():
    options = parse()
    run = Run(options)
    run.open_heddle()
    run.numerics()
    run.rows()
    run.heddle.close()
    run.save()
    print_tables(run.document, run.skipped, sys.stdout)
    document = run.document
    sys.exit(any(not n.get("passed") for n in document["numerics"]) or
             any("error" in r or r.get("finite") is False
                 for r in document["results"] if r["impl"] == "heddle"))


main()
