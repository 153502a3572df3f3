"""Compiles a model file and judges every function in it.

usage: check.py [--device=cpu|emulator|cuda] [--cpu=NAME] [--target=NAME]
                [--match=REGEX] [--part=I/N] [--refused=REGEX:TEXT]... [--seeds=LIST]
                [--threads=N] [--option=OPTION]... MODEL.mlir WORKDIR

Each public function is run on poisoned buffers, on the emulator with all
sanitizers. Without annotation its inputs are drawn and its results are compared
with the reference device. --part takes every N-th function, --refused expects an
error for functions that it names, --seeds are orders of warps and lanes, --option
goes to heddle-run. Comments ahead of a function change that:

  // INPUT k: EXPRESSION      argument k; see `Tensor` below for what it may say
  // EXPECT k: [..] +- EPS    result k is this, row-major, to EPS of each element
                              (default 1e-6); nan and inf have to stand exactly
  // EXPECT k: finite         result k has no nan and no inf
  // REFERENCE: none          do not ask the reference device (its rule refuses a
                              result that is zero everywhere)
  // ERROR: TEXT              the compiler refuses the function and says TEXT

Standard library only.
"""

import argparse
import json
import math
import os
import random
import re
import struct
import subprocess
import sys

nan, inf = math.nan, math.inf

# Functions per bundle: fewer compilations against larger bundles.
CHUNK = 8

FORMATS = {"float32": ("<f4", "f"), "float64": ("<f8", "d"),
           "float16": ("<f2", "e"), "bfloat16": ("<V2", "H"),
           "bool": ("|b1", "?"), "int8": ("|i1", "b"), "int16": ("<i2", "h"),
           "int32": ("<i4", "i"), "int64": ("<i8", "q")}


class Tensor:
    """Row-major elements. `at[index, ...] = value` assigns a sub-array; None in
    an index means all of that axis."""

    def __init__(self, shape, elements):
        self.shape, self.elements = list(shape), list(elements)

    def put(self, *index_and_value):
        *index, value = index_and_value
        index = list(index) + [None] * (len(self.shape) - len(index))
        positions = [0]
        for wanted, extent in zip(index, self.shape):
            each = range(extent) if wanted is None else \
                wanted if isinstance(wanted, range) else [wanted]
            positions = [p * extent + i for p in positions for i in each]
        for p in positions:
            self.elements[p] = value
        return self


def evaluate(expression, dtype, shape):
    count = math.prod(shape)

    def normal(seed=0, scale=1.0):
        r = random.Random(seed)
        return Tensor(shape, (r.gauss(0, scale) for _ in range(count)))

    def uniform(low, high, seed=0):
        r = random.Random(seed)
        return Tensor(shape, (r.uniform(low, high) for _ in range(count)))

    def integers(low, high, seed=0):
        r = random.Random(seed)
        return Tensor(shape, (r.randrange(low, high) for _ in range(count)))

    def full(value):
        return Tensor(shape, [value] * count)

    value = eval(expression, {"nan": nan, "inf": inf, "normal": normal,
                              "uniform": uniform, "integers": integers,
                              "full": full, "range": range, "math": math,
                              "Tensor": Tensor, "shape": shape})
    return value if isinstance(value, Tensor) else Tensor(shape, flatten(value))


def flatten(value):
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in flatten(part)]
    return [value]


def to_bfloat16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    if math.isnan(x):
        return 0x7FC0
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def write_npy(path, dtype, tensor):
    descr, code = FORMATS[dtype]
    elements = tensor.elements
    assert len(elements) == math.prod(tensor.shape), \
        f"{len(elements)} elements for shape {tensor.shape}"
    if dtype == "bfloat16":
        elements = [to_bfloat16(x) for x in elements]
    shape = "".join(f"{d}," for d in tensor.shape)
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        f.write(header.encode())
        f.write(struct.pack(f"<{len(elements)}{code}", *elements))


def read_npy(path, dtype):
    with open(path, "rb") as f:
        data = f.read()
    body = data[10 + struct.unpack("<H", data[8:10])[0]:]
    code = FORMATS[dtype][1]
    width = struct.calcsize(code)
    elements = struct.unpack(f"<{len(body) // width}{code}", body)
    if dtype == "bfloat16":
        elements = [struct.unpack("<f", struct.pack("<I", x << 16))[0]
                    for x in elements]
    return elements


def signature(text):
    """(dtype, shape) of arguments and of results, from a function's first lines."""
    names = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
             "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
             "index": "int64"}

    def tensors(part):
        types = [t.split("x") if "index" not in t else t.split("index")[0].split("x")[:-1] + ["index"]
                 for t in re.findall(r"tensor<([^>]*)>", part)]
        return [{"dtype": names[t[-1]], "shape": [int(n) for n in t[:-1]]} for t in types]

    head = re.split(r"\{[ ]*\n", text, maxsplit=1)[0]
    arguments, _, results = head.partition("->")
    return {"arguments": tensors(arguments), "results": tensors(results)}


def parse(path):
    """(name, annotations, text) of each function, in order. A model file holds
    nothing but functions."""
    functions, notes = [], []
    with open(path) as f:
        for line in f:
            note = re.match(r"// (INPUT|EXPECT|REFERENCE|ERROR)\s*(\d*): (.*)", line)
            function = re.match(r"func\.func @(\w+)", line)
            if note:
                notes.append(note.groups())
            elif function:
                functions.append((function.group(1), notes, line))
                notes = []
            elif functions and not line.startswith("//"):
                name, mine, text = functions[-1]
                functions[-1] = (name, mine, text + line)
    return functions


def compare(actual, text):
    """None, or what is wrong."""
    if text.strip() == "finite":
        bad = [i for i, x in enumerate(actual) if not math.isfinite(x)]
        return f"element {bad[0]} is {actual[bad[0]]}" if bad else None
    values, _, tolerance = text.partition("+-")
    expected = flatten(eval(values, {"nan": nan, "inf": inf}))
    epsilon = float(tolerance) if tolerance else 1e-6
    if len(expected) != len(actual):
        return f"expected {len(expected)} elements, got {len(actual)}"
    for i, (a, e) in enumerate(zip(actual, expected)):
        if math.isnan(e) or math.isinf(e):
            same = math.isnan(a) if math.isnan(e) else a == e
        else:
            same = abs(a - e) <= epsilon * max(abs(e), 1e-30) or a == e
        if not same:
            return f"element {i}: expected {e}, got {a}"
    return None


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def compile_chunk(options, begin, chunk, bundles, fail):
    """Compiles a few functions at once, or one by one where that fails."""
    path = os.path.join(options.workdir, f"from-{begin}")
    with open(path + ".mlir", "w") as f:
        f.write("\n".join(text for _, _, text in chunk))
    code, report, err = run(
        ["heddle-compile", path + ".mlir", f"--cpu={options.cpu}",
         "-o", path + ".heddle", "--report=json"])
    if code == 0:
        for function in json.loads(report)["functions"]:
            bundles[function["name"]] = (path + ".heddle", function)
    elif len(chunk) == 1:
        fail(chunk[0][0], f"heddle-compile gives {code}: {err.strip()[-800:]}")
    else:
        for i, one in enumerate(chunk):
            compile_chunk(options, f"{begin}-{i}", [one], bundles, fail)


def compile_error(options, path):
    """Status and messages of the compiler for a file that it should refuse."""
    if options.device == "cpu":
        target = f"--cpu={options.cpu}"
    else:
        target = f"--target={options.target}"
    code, _, err = run(["heddle-compile", path, target, "-o", os.devnull])
    return code, err


def judge(options, name, notes, model, info, how):
    """Runs one function: None, or what is wrong."""
    command = ["heddle-run", model, f"--function={name}",
               f"--threads={options.threads}", *options.option, *how]
    reference = not any(kind == "REFERENCE" for kind, _, _ in notes)
    if reference:
        command.append("--check=reference")
    results = info["results"]
    outputs = [os.path.join(options.workdir, f"{name}.{i}.npy")
               for i in range(len(results))]
    for kind, number, text in notes:
        if kind != "INPUT":
            continue
        argument = info["arguments"][int(number)]
        path = os.path.join(options.workdir, f"{name}.in{number}.npy")
        tensor = evaluate(text, argument["dtype"], argument["shape"])
        write_npy(path, argument["dtype"], tensor)
        command.append(f"--input=arg{number}=@{path}")
    expectations = [(int(n), t) for kind, n, t in notes if kind == "EXPECT"]
    if expectations:
        command += [f"--output=@{p}" for p in outputs]
    code, out, err = run(command)
    matches = out.count("matches the reference device")
    if code != 0 or (reference and matches != len(results)):
        return f"{' '.join(command)} gives {code}\n{out}{err}"
    if not reference and not expectations:
        return "expected something to check, found no EXPECT"
    for number, text in expectations:
        wrong = compare(read_npy(outputs[number], results[number]["dtype"]), text)
        if wrong:
            return f"result {number}: {wrong}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "emulator", "cuda"), default="cpu")
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--match", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--refused", action="append", default=[])
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("model")
    parser.add_argument("workdir")
    options = parser.parse_args()
    os.makedirs(options.workdir, exist_ok=True)
    part, parts = (int(n) for n in options.part.split("/"))
    functions = [f for f in parse(options.model)
                 if re.search(options.match, f[0])][part::parts]
    refused = {name: (notes[0][2], text) for name, notes, text in functions
               if notes and notes[0][0] == "ERROR"}
    for rule in options.refused:
        pattern, _, message = rule.partition(":")
        refused.update({name: (message, text) for name, _, text in functions
                        if re.search(pattern, name)})
    failures = []

    def fail(name, why):
        failures.append(name)
        print(f"FAIL {name}: {why}")

    for name, (message, text) in refused.items():
        path = os.path.join(options.workdir, name + ".mlir")
        with open(path, "w") as f:
            f.write(text)
        code, err = compile_error(options, path)
        if code != 1 or message not in err:
            fail(name, f"expected the error '{message}', got status {code}: {err}")
        else:
            print(f"ok   {name}")
    wanted = [f for f in functions if f[0] not in refused]
    bundles = {}
    if options.device == "cpu":
        for begin in range(0, len(wanted), CHUNK):
            compile_chunk(options, begin, wanted[begin:begin + CHUNK], bundles, fail)
    else:
        for name, _, text in wanted:
            path = os.path.join(options.workdir, name + ".mlir")
            with open(path, "w") as f:
                f.write(text)
            bundles[name] = path, signature(text)
    runs = [[]]
    if options.device != "cpu":
        runs = [[f"--device={options.device}", f"--target={options.target}"]]
    if options.device == "emulator":
        runs = [runs[0] + [f"--seed={seed}"] for seed in options.seeds.split(",")]

    for name, notes, _ in wanted:
        if name not in bundles:
            continue
        wrong = [why for how in runs
                 if (why := judge(options, name, notes, *bundles[name], how))]
        if wrong:
            fail(name, wrong[0])
        else:
            print(f"ok   {name}")
    print(f"{len(functions)} functions, {len(failures)} failures")
    return 1 if failures or not functions else 0


sys.exit(main())
