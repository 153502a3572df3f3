"""What the peers share: rows, values, timing, and the two ways to run.

A peer is a `Backend`. `main` runs it over the rows of a result file (as
`heddle-bench --list -o FILE` writes them) or, with --serve, over rows that come
as JSON lines on standard input, one answer a line.
"""

import argparse
import json
import math
import os
import sys
import time

import numpy as np

import models
import ours
import reference

MIB = float(1 << 20)

DESCRIPTIVE = (
    "suite model impl cell attention dtype head_dim seq causal mode tokens "
    "width batch heads model_dim state layers op steps optimizer").split()


class Backend:
    """One framework."""

    impl = ""

    def version(self):
        """Descriptive entries for the result file's device."""
        raise NotImplementedError

    def forms(self, row):
        """The ways in which it can do the row's work; the fastest counts."""
        return [""]

    def prepare(self, row, inputs, form=""):
        """Returns (call, read, extra): `call()` runs once and waits for the
        result, `read()` returns the last result as float64, and `extra` holds
        trace_s, compile_s and the memory figures. `inputs` are float64 arrays
        by name that are exact in their dtype. A form that this machine cannot
        hold is a MemoryError. Of suites that ours.py compares, `read()` returns
        a list of arrays in the order of ours.results."""
        raise NotImplementedError

    def time(self, call, warmup, repeats):
        """inner, median_ms, q1_ms and q3_ms of calls."""
        return time_calls(call, warmup, repeats)


def limit_cores(threads):
    """Keeps this process on `threads` cores, before a framework counts them."""
    cores = sorted(os.sched_getaffinity(0))
    if threads > len(cores):
        sys.exit("expected at most %d threads, got %d" % (len(cores), threads))
    if threads:
        os.sched_setaffinity(0, cores[:threads])
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.environ["MKL_NUM_THREADS"] = str(threads)
    return threads or len(cores)


def normal(rng, shape, dtype, mean=0.0, deviation=1.0):
    values = rng.standard_normal(shape, dtype=np.float32)
    values = np.float32(mean) + np.float32(deviation) * values
    return reference.round_to(values, dtype)


def make_inputs(row, seed):
    """Arguments by name, with the value rules of heddle-bench (other values)."""
    rng = np.random.default_rng(seed)
    if row["suite"] == "attention":
        shape = (row["batch"], row["seq"], row["heads"], row["head_dim"])
        inputs = {name: normal(rng, shape, row["dtype"])
                  for name in ("query", "key", "value")}
        if row["mode"] == "fwd_bwd":
            inputs["cotangent"] = normal(rng, shape, "float32")
        return inputs
    if row["suite"] == "scan":
        arguments = models.scan_operands(row)
        if row["mode"] == "fwd_bwd":
            arguments += models.scan_cotangents(row)
        return {name: models.values(
            rng, name, shape, row["dtype"] if models.in_dtype(name, shape)
            else "float32") for name, shape in arguments}
    inputs = {name: models.values(rng, name, shape)
              for name, shape in models.parameters(row)}
    for name, shape in models.inputs(row):
        inputs[name] = models.values(rng, name, shape,
                                     row.get("dtype", "float32"))
    return inputs


def is_step(row):
    """Whether the row is a training step."""
    return row.get("op") in ("train_step", "bare_jit")


def is_fit(row):
    """Whether the row is a loop of training steps."""
    return row.get("op") in ("fit_array", "fit_stream")


def time_calls(call, warmup, repeats):
    """inner back-to-back calls a sample; median and quartiles in ms."""
    estimate = quickest(call, max(warmup, 1))
    inner = int(min(max(0.05 / max(estimate, 1e-9), 1), 200))
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        samples.append((time.perf_counter() - start) / inner)
    return quartiles(inner, [1e3 * sample for sample in samples])


def quartiles(inner, milliseconds):
    q1, median, q3 = np.quantile(milliseconds, [0.25, 0.5, 0.75])
    return {"inner": inner, "median_ms": float(median), "q1_ms": float(q1),
            "q3_ms": float(q3)}


def time_enqueued(sample, warmup, repeats):
    """The same on a device that runs behind the host: `sample(n)` takes the
    milliseconds of n calls, one after the other."""
    estimate = min(sample(1) for _ in range(max(warmup, 1)))
    inner = int(min(max(50 / max(estimate, 1e-4), 1), 200))
    return quartiles(inner, [sample(inner) / inner for _ in range(repeats)])


def supported(row, impl="jax"):
    if row.get("variant", "plain") != "plain":
        return False
    if row.get("suite") == "attention":
        return row.get("mode") in ("fwd", "fwd_bwd")
    if row.get("suite") == "train_loop":
        return row.get("optimizer", "adam") == "adam" and (
            row.get("op") == "bare_jit" or is_fit(row) and
            impl.startswith("jax"))
    return (row.get("suite") == "scan" or
            row.get("suite") in ("transformer", "diffusion", "ssm") and
            row.get("op") in ("forward", "train_step"))


def quickest(call, count):
    """The least seconds of a call."""
    samples = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return min(samples)


def choose_form(backend, row, inputs, options):
    """(call, read, extra) of the fastest form whose results are ours, after its
    first call. What became of the others is in extra["other_forms"]."""
    expected = None
    if ours.compares(row) and options.tools != "none":
        small = ours.compared_row(row)
        # Large results are compared on a small row of the same function.
        values = inputs if small == row else make_inputs(small, options.seed)
        expected = ours.results(small, values, options.tools)
    best, others, forms = None, [], backend.forms(row)
    for form in forms:
        try:
            verdict = {}
            if expected is not None and small != row:
                call, read, _ = backend.prepare(small, values, form)
                call()
                verdict = ours.compare(small, read(), expected)
                verdict["check"] = ours.difference(row, small) + verdict["check"]
            call, read, extra = backend.prepare(row, inputs, form)
            start = time.perf_counter()
            call()
            extra["first_call_s"] = time.perf_counter() - start
            if expected is not None and small == row:
                verdict = ours.compare(row, read(), expected)
        except MemoryError as error:
            others.append("%s: %s" % (form, error))
            continue
        if not verdict.get("correct", True):
            others.append("%s: %s" % (form or "result", verdict["wrong"]))
            continue
        seconds = 0.0
        if len(forms) > 1:
            # The second call may still compile: gradients flow elsewhere.
            seconds = quickest(call, 2)
        extra.update(verdict)
        if form:
            extra["form"] = form
        if best is None or seconds < best[0]:
            slower, best = best, (seconds, call, read, extra)
        else:
            slower = seconds, None, None, extra
        if slower:
            others.append("%s: %.3g ms" % (slower[3]["form"], 1e3 * slower[0]))
    if best is None:
        raise ValueError("expected a form that runs and is right, found none (%s)"
                         % "; ".join(others))
    if others:
        best[3]["other_forms"] = "; ".join(others)
    return best[1:]


def measure(backend, row, options):
    """A finished row; a failure stays in it."""
    row = {key: row[key] for key in DESCRIPTIVE if key in row}
    row["impl"] = backend.impl
    if row.get("attention", "no_attention") != "no_attention":
        row["attention"] = backend.impl
    try:
        if not supported(row, backend.impl):
            raise ValueError("expected a forward row, a training step or a "
                             "scan; choose others with --filter")
        inputs = make_inputs(row, options.seed)
        if row["suite"] not in ("attention", "scan"):
            row["params"] = sum(math.prod(shape) for _, shape
                                in models.parameters(row))
        call, read, extra = choose_form(backend, row, inputs, options)
        row.update(extra)
        row.update(backend.time(call, options.warmup, options.repeats))
        if row["suite"] == "train_loop":
            row["per_step_ms"] = row["median_ms"] / row.get("steps", 1)
        if row["suite"] == "attention":
            flops = (4.0 * row["batch"] * row["heads"] * row["seq"]**2 *
                     row["head_dim"] * (0.5 if row["causal"] else 1.0) *
                     (3.5 if row["mode"] == "fwd_bwd" else 1.0))
            row["tflops"] = flops / row["median_ms"] * 1e-9
        length = row.get("seq", row.get("tokens", 0))
        if options.check_length and length > options.check_length:
            row.setdefault("check", "none")
        elif ours.compares(row):
            row["finite"] = all(np.isfinite(part).all() for part in read())
            row.setdefault("check", "finite values")
        else:
            row.update(reference.compare(row, inputs, read()))
    except Exception as error:  # a row that fails must not end the run
        row["error"] = "%s: %s" % (type(error).__name__, error)
    return row


def json_line(row):
    """NaN has no place in JSON: null."""
    clean = {key: None if isinstance(value, float) and not math.isfinite(value)
             else value for key, value in row.items()}
    return json.dumps(clean)


def read_rows(path):
    with open(path) as file:
        document = json.load(file)
    return document["results"]


def write_results(path, device, runs, rows):
    document = {"device": device, "config": {"runs": runs}, "results": rows}
    if path == "-":
        json.dump(document, sys.stdout, indent=1)
        print()
        return
    temporary = "%s.tmp%d" % (path, os.getpid())
    with open(temporary, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


def device_entry(threads):
    model = "cpu"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"backend": "cpu", "device_kind": model, "threads": threads}


def main(make_backend, description, backends=None):
    """`make_backend(threads)` imports the framework; with `backends` it takes
    one of these names as well, that of --backend."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", help="result file whose rows to run, as "
                        "heddle-bench --list -o FILE writes it")
    parser.add_argument("--serve", action="store_true",
                        help="rows as JSON lines on standard input")
    parser.add_argument("-o", "--output", default="-")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check-length", type=int, default=0, help="longest "
                        "seq or tokens that is compared; 0: all are")
    parser.add_argument("--tools", default=ours.TOOLS, help="folder of "
                        "heddle-bench and heddle-run, whose results those of "
                        "scan and ssm are compared with; none: they are not")
    if backends:
        parser.add_argument("--backend", choices=backends, default=backends[0])
    options = parser.parse_args()
    if bool(options.rows) == options.serve:
        parser.error("expected one of --rows and --serve")
    threads = limit_cores(options.threads)
    backend = (make_backend(threads, options.backend) if backends
               else make_backend(threads))
    device = {**device_entry(threads), **backend.version()}
    if options.serve:
        print(json.dumps({"device": device}), flush=True)
        for line in sys.stdin:
            print(json_line(measure(backend, json.loads(line), options)),
                  flush=True)
        return
    rows = []
    for row in read_rows(options.rows):
        print(" ".join("%s=%s" % (key, row[key]) for key in DESCRIPTIVE
                       if key in row), file=sys.stderr)
        rows.append(json.loads(json_line(measure(backend, row, options))))
        if options.output != "-":
            write_results(options.output, device, [vars(options)], rows)
    if options.output == "-":
        write_results("-", device, [vars(options)], rows)
    sys.exit(any("error" in row for row in rows))
