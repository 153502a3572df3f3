"""Trains a model with Heddle and with JAX from the same parameters on the same
data, and compares the loss of every step.

    ~/.cache/heddle-peers/bin/python benchmarks/peers/compare_training.py \\
        --suite=train_loop --filter=width=64

heddle-bench writes the graph of the row, heddle-compile compiles it, and
heddle-run makes the steps, each on the state that the one before wrote (.npz).
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np

import common
import models

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "bin")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("compare_training.py: error: %s: %s"
                 % (os.path.basename(command[0]), done.stderr.strip()))
    return done.stdout


def chosen_row(options, folder):
    """The one step that the options choose, and the file of its graph."""
    selection = (["--suite=" + options.suite] +
                 ["--filter=" + text for text in options.filter] +
                 ["--set=" + text for text in options.set])
    rows = os.path.join(folder, "rows.json")
    bench = os.path.join(options.bin, "heddle-bench")
    run(bench, "--list", *selection, "-o", rows)
    steps = [row for row in common.read_rows(rows)
             if common.is_step(row) and common.supported(row)]
    if len(steps) != 1:
        sys.exit("compare_training.py: error: expected one training step, the "
                 "filters leave %d; choose with --filter" % len(steps))
    row = steps[0]
    exact = ["--filter=%s=%s" % (key, row[key]) for key in ("op", "optimizer")
             if key in row]
    run(bench, *selection, *exact, "--plan-only",
        "--emit-mlir=" + folder, "-o", os.path.join(folder, "plan.json"))
    graphs = [path for path in glob.glob(os.path.join(folder, "*.mlir"))
              if "donate" not in os.path.basename(path)]
    return row, graphs[0]


def heddle_losses(options, graph, params, inputs, folder):
    bundle = os.path.join(folder, "step.heddle")
    run(os.path.join(options.bin, "heddle-compile"), graph, "-o", bundle)
    state = dict(params)
    for name, value in params.items():
        state["mu." + name] = np.zeros_like(value)
        state["nu." + name] = np.zeros_like(value)
    state["count"] = np.int32(0)
    order = list(params)
    order = order + ["mu." + n for n in order] + ["nu." + n for n in order]
    order += ["count", "loss"]
    losses = []
    for _ in range(options.steps):
        before = os.path.join(folder, "in.npz")
        after = os.path.join(folder, "out.npz")
        np.savez(before, **state, **inputs)
        run(os.path.join(options.bin, "heddle-run"), bundle,
            "--inputs=@" + before, "--outputs=@" + after)
        with np.load(after) as results:
            state = {name: results["result%d" % i]
                     for i, name in enumerate(order)}
        losses.append(float(state.pop("loss")))
    return losses


def jax_losses(row, params, inputs, steps):
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    import jax_models

    step = jax.jit(jax_models.Models(jax).train_step(row))
    params = {name: jnp.asarray(value) for name, value in params.items()}
    zeros = {name: jnp.zeros_like(value) for name, value in params.items()}
    state = params, zeros, zeros, jnp.int32(0)
    losses = []
    for _ in range(steps):
        *state, loss = step(*state, *(jnp.asarray(value)
                                      for value in inputs.values()))
        losses.append(float(loss))
    return losses


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=1e-4,
                        help="largest relative difference of losses")
    parser.add_argument("--bin", default=BIN, help="folder of the tools")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row, graph = chosen_row(options, folder)
        if row.get("dtype", "float32") != "float32":
            sys.exit("compare_training.py: error: expected a float32 row; add "
                     "--filter=dtype=float32")
        rng = np.random.default_rng(options.seed)
        params = {name: models.values(rng, name, shape).astype(np.float32)
                  for name, shape in models.parameters(row)}
        inputs = {name: models.values(rng, name, shape).astype(np.float32)
                  for name, shape in models.inputs(row)}
        ours = heddle_losses(options, graph, params, inputs, folder)
        theirs = jax_losses(row, params, inputs, options.steps)
    worst = 0.0
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        difference = abs(a - b) / abs(b)
        worst = max(worst, difference)
        print("step %2d  heddle %.8f  jax %.8f  difference %.1e"
              % (number, a, b, difference))
    print("largest relative difference %.1e, limit %.1e"
          % (worst, options.limit))
    sys.exit(0 if worst <= options.limit else 1)


if __name__ == "__main__":
    main()
