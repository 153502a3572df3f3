"""Compares the machine code of attention with Triton's, without a GPU.

For each GPU, head dimension and mask both compilers make bf16 attention forward
of 4 x 2048 x 16 heads. Of Triton's configurations (triton_attention.py) those
that spill or need more shared memory than a block can have are left out and the
best is taken: the fewest instructions beside products to a product in the main
loop. Ours is what heddle-compile chooses. Registers and shared memory are
compared with those of that best one.

A product is one of 16x8x16 by a warp, of scores or output; what else is multiplied
counts as other instructions. Triton's code for sm_90 uses wgmma, which
reads operands from shared memory; it is counted by its FLOPs (sass.py). The row
"sm_90 (mma)" compares with Triton's code for sm_80, which runs on sm_90 too.

    benchmarks/peers/setup.sh
    ~/.cache/heddle-peers/bin/python benchmarks/peers/compare_sass.py -o sass.json

Compiling all of Triton's configurations takes minutes; --triton-code=FILE keeps
the figures, and reads them where the file exists.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import sass
import triton_attention

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BATCH, LENGTH, HEADS = 4, 2048, 16
# Bytes that a block can have.
SHARED_LIMIT = {80: 163 * 1024, 90: 227 * 1024}
FIGURES = ("per_product", "registers", "shared_bytes")


def model(head_dim, causal):
    tensor = "tensor<%dx%dx%dx%dxbf16>" % (BATCH, LENGTH, HEADS, head_dim)
    mask = " {mask = #heddle.mask<causal>}" if causal else ""
    return """func.func @attention(%q: T, %k: T, %v: T) -> T {
  %out = heddle.attention %q, %k, %vMASK : T, T, T -> T
  return %out : T
}
""".replace("MASK", mask).replace(" T", " " + tensor)


def figures(cubin, shared_bytes, config, head_dim, tile, folder):
    """`tile`: queries, keys, warps."""
    path = os.path.join(folder, "kernel.cubin")
    with open(path, "wb") as file:
        file.write(cubin)
    queries, keys, warps = tile
    # Two products, of scores and of output.
    wanted = queries * keys * head_dim * 2 // (warps * 16 * 8 * 16)
    kernel = sass.kernel(path, wanted)
    return {
        "config": config, "per_product": kernel["main"]["per_product"],
        "registers": kernel["registers"], "shared_bytes": shared_bytes,
        "spill_instructions": kernel["spill_instructions"],
        "main_loop": kernel["main"], "loops": kernel["loops"],
    }


def ours(compiler, target, head_dim, causal, folder):
    source = os.path.join(folder, "model.mlir")
    bundle = os.path.join(folder, "model.heddle")
    cubin = os.path.join(folder, "model.cubin")
    with open(source, "w") as file:
        file.write(model(head_dim, causal))
    common = [compiler, source, "--target=" + target]
    done = subprocess.run(common + ["--cubin", "--report=json", "-o", bundle],
                          capture_output=True, text=True)
    if done.returncode == 0:
        report = json.loads(done.stdout)
        done = subprocess.run(common + ["--emit=cubin", "-o", cubin],
                              capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("compare_sass.py: error: " + done.stderr.strip())
    kernel = report["functions"][0]["images"][0]["kernels"][0]
    tile = [int(part[1:]) for part in kernel["tile"].split("_")[:3]]
    with open(cubin, "rb") as file:
        return figures(file.read(),
                       kernel["shared_bytes"] + kernel["static_shared_bytes"],
                       kernel["tile"], head_dim, tile, folder)


def theirs(sm, head_dim, causal, folder, wanted):
    """Every configuration of Triton's that `wanted` lets pass."""
    tried = []
    for config in triton_attention.configs(sm, causal):
        queries, keys, warps, stages = config
        name = "q%d_k%d, %d warps, %d stages" % config
        if not wanted(queries):
            continue
        cubin, shared = triton_attention.compile_attention(
            sm, head_dim, causal, *config)
        tried.append(figures(cubin, shared, name, head_dim,
                             (queries, keys, warps), folder))
        tried[-1]["fits"] = shared <= SHARED_LIMIT[sm]
        print("  triton sm_%d %s: %.3f, %d registers, %d bytes, %d spills"
              % (sm, name, tried[-1]["per_product"], tried[-1]["registers"],
                 shared, tried[-1]["spill_instructions"]),
              file=sys.stderr, flush=True)
    return tried


def compare(target, head_dim, causal, mine, tried):
    whole = [t for t in tried if t["spill_instructions"] == 0 and t["fits"]]
    best = min(whole, key=lambda t: t["per_product"])
    return {
        "target": target, "head_dim": head_dim, "causal": causal,
        "heddle": mine, "triton": best,
        "ratio": {f: mine[f] / best[f] for f in FIGURES},
        # Any that need less of both, though the best one does not.
        "triton_below_in_instructions_and_registers": [
            t["config"] for t in whole
            if t["per_product"] < mine["per_product"]
            and t["registers"] < mine["registers"]],
        "triton_tried": [
            {f: t[f] for f in ("config",) + FIGURES +
             ("spill_instructions", "fits")} for t in tried],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler",
                        default=os.path.join(ROOT, "build/bin/heddle-compile"))
    parser.add_argument("--sm", default="80,90", help="GPUs; default: 80,90")
    parser.add_argument("--head-dim", default="64,128")
    parser.add_argument("--triton-queries", default="64,128",
                        help="tiles of Triton's with so many queries; "
                        "default: 64,128")
    parser.add_argument("--triton-code", metavar="FILE",
                        help="figures of Triton's code, kept between runs")
    parser.add_argument("-o", dest="output", help="write JSON to this file")
    options = parser.parse_args()
    numbers = lambda text: [int(part) for part in text.split(",")]
    queries = numbers(options.triton_queries)

    known = {}
    if options.triton_code and os.path.exists(options.triton_code):
        with open(options.triton_code) as file:
            known = json.load(file)
    rows = []
    with tempfile.TemporaryDirectory() as folder:

        def triton_code(sm, head_dim, causal):
            key = "sm_%d %d %s" % (sm, head_dim, "causal" if causal else "full")
            if key not in known:
                known[key] = theirs(sm, head_dim, causal, folder,
                                    lambda q: q in queries)
                if options.triton_code:
                    with open(options.triton_code, "w") as file:
                        json.dump(known, file)
            return known[key]

        for sm in numbers(options.sm):
            for head_dim in numbers(options.head_dim):
                for causal in (False, True):
                    mine = ours(options.compiler, "sm_%d" % sm, head_dim, causal,
                                folder)
                    for code in (sm, 80) if sm >= 90 else (sm,):
                        rows.append(compare(
                            "sm_%d%s" % (sm, "" if code == sm else " (mma)"),
                            head_dim, causal, mine,
                            triton_code(code, head_dim, causal)))
    line = "%-12s %4s %-7s %-8s %11s %9s %8s %6s  %s"
    print(line % ("target", "D", "mask", "", "per product", "registers",
                  "shared", "spills", "configuration"))
    for row in rows:
        for who in ("heddle", "triton"):
            side = row[who]
            print(line % (row["target"], row["head_dim"],
                          "causal" if row["causal"] else "full", who,
                          "%.3f" % side["per_product"], side["registers"],
                          side["shared_bytes"], side["spill_instructions"],
                          side["config"]))
        print(line % ("", "", "", "ratio", *("%.3f" % row["ratio"][f]
                                             for f in FIGURES), "", ""))
    if options.output:
        import triton
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                                capture_output=True, text=True).stdout.strip()
        with open(options.output, "w") as file:
            json.dump({"commit": commit, "triton": triton.__version__,
                       "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
