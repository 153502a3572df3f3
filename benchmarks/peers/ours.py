"""Heddle's results on a peer's inputs, which the peer's are compared with.

heddle-bench writes the graph of the row, heddle-run runs it on the inputs as
they are (.safetensors, which has bfloat16).
"""

import glob
import json
import math
import os
import subprocess
import tempfile

import numpy as np

import models

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "bin")
SIZES = ("batch", "seq", "tokens", "model_dim", "layers", "state")
# Largest relative errors: of a scan's result by its largest value, of a model's
# in the norm. Both sides round, in orders of their own.
LIMITS = {("scan", "float32"): 2e-5, ("scan", "bfloat16"): 2e-2,
          ("ssm", "float32"): 1e-3, ("ssm", "bfloat16"): 1e-1}
# Results of more elements are compared on a smaller row.
MOST_ELEMENTS = 1 << 23


def compares(row):
    return row["suite"] in ("scan", "ssm")


def compared_row(row):
    """The row itself, or one entry and few steps of the same function."""
    if row["suite"] == "scan" and (row["batch"] * row["seq"] *
                                   row["model_dim"] > MOST_ELEMENTS):
        return dict(row, batch=1, seq=min(row["seq"], 1024))
    if row["suite"] == "ssm" and row["tokens"] > 1024:
        return dict(row, batch=1, tokens=1024)
    return row


def difference(row, small):
    return ", ".join("%s=%s" % (key, small[key]) for key in SIZES
                     if small.get(key) != row.get(key)) + ": "


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError("%s: %s" % (os.path.basename(command[0]),
                                       done.stderr.strip()))


def write_tensors(path, tensors):
    """{name: (float64 array, dtype)} as .safetensors."""
    header, parts, offset = {}, [], 0
    for name, (values, dtype) in tensors.items():
        wide = np.ascontiguousarray(values, np.float32)
        if dtype == "bfloat16":
            wide = (wide.view(np.uint32) >> 16).astype(np.uint16)
        elif dtype == "int32":
            wide = np.ascontiguousarray(values, np.int32)
        header[name] = {
            "dtype": {"bfloat16": "BF16", "int32": "I32"}.get(dtype, "F32"),
            "shape": list(np.shape(values)),
            "data_offsets": [offset, offset + wide.nbytes]}
        offset += wide.nbytes
        parts.append(wide)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            part.tofile(file)


def read_tensors(path):
    """{name: float32 array} of .safetensors of floats."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        part = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":
            bits = np.frombuffer(part, np.uint16).astype(np.uint32) << 16
            values = bits.view(np.float32)
        else:
            values = np.frombuffer(part, np.int32 if entry["dtype"] == "I32"
                                   else np.float32)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def arguments(row, inputs):
    """{name: (values, dtype)} of the row's graph."""
    dtype = row.get("dtype", "float32")
    if row["suite"] == "scan":
        return {name: (value, dtype if models.in_dtype(name, value.shape)
                       else "float32") for name, value in inputs.items()}
    data = [name for name, _ in models.inputs(row)]
    tensors = {name: (value, dtype if name in data else "float32")
               for name, value in inputs.items()}
    if row.get("op") == "train_step":
        for name, _ in models.parameters(row):
            zero = np.zeros(np.shape(inputs[name]))
            tensors["mu." + name] = tensors["nu." + name] = zero, "float32"
        tensors["count"] = np.zeros((), np.int32), "int32"
    return tensors


def results(row, inputs, tools):
    """A list of float32 arrays: a scan's results or gradients, a model's output,
    or a training step's loss and gradients of all parameters."""
    with tempfile.TemporaryDirectory() as folder:
        choice = ["--suite=" + row["suite"]]
        for key in ("op", "cell", "dtype", "mode"):
            if key in row:
                choice.append("--filter=%s=%s" % (key, row[key]))
        choice += ["--set=%s=%s" % (key, row[key]) for key in SIZES
                   if key in row]
        run(os.path.join(tools, "heddle-bench"), *choice, "--plan-only",
            "--emit-mlir=" + folder, "-o", os.path.join(folder, "plan.json"))
        graph, = (path for path in glob.glob(os.path.join(folder, "*.mlir"))
                  if "donate" not in os.path.basename(path))
        before = os.path.join(folder, "in.safetensors")
        after = os.path.join(folder, "out.safetensors")
        write_tensors(before, arguments(row, inputs))
        run(os.path.join(tools, "heddle-run"), graph, "--inputs=@" + before,
            "--outputs=@" + after)
        found = list(read_tensors(after).items())
    number = lambda name: int("".join(filter(str.isdigit, name)) or 0)
    values = [value for _, value in sorted(found, key=lambda x: number(x[0]))]
    if row.get("op") != "train_step":
        return values
    # The first moments of Adam, from zero, are 0.1 gradients.
    count = len(models.parameters(row))
    return [values[-1]] + [10 * mu for mu in values[count:2 * count]]


def relative_error(row, got, want):
    got, want = np.float64(got), np.float64(want)
    if row["suite"] == "scan":
        return np.abs(got - want).max() / np.abs(want).max()
    return np.linalg.norm(got - want) / np.linalg.norm(want)


def compare(row, got, want):
    """rel_err, check, correct and wrong of a peer's results beside ours."""
    limit = LIMITS[row["suite"], row.get("dtype", "float32")]
    shapes = [value.shape for value in got], [value.shape for value in want]
    if shapes[0] != shapes[1]:
        return {"correct": False, "wrong": "expected the shapes of Heddle's "
                "results %s, got %s" % shapes[::-1]}
    errors = [float(relative_error(row, *pair)) for pair in zip(got, want)]
    worst = max(errors, key=lambda e: math.inf if math.isnan(e) else e)
    verdict = {"rel_err": worst, "correct": worst <= limit,
               "check": "Heddle's results on the same inputs: rel_err <= %g"
               % limit}
    if not verdict["correct"]:
        verdict["wrong"] = ("expected rel_err <= %g beside Heddle's result %d, "
                            "got %.2g" % (limit, errors.index(worst), worst))
    return verdict
