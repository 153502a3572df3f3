"""Runs one table of attention with every tile that heddle-compile lists.

usage: attention-tiles.py run|assemble HEAD_DIM TARGET,... WORKDIR

`run` judges the table on the emulator against the reference device, with each tile
that is listed for one of the targets. `assemble` has ptxas assemble bf16 rows of it
for each target: no spills, no stack frame. At least four tiles have to fit each
target.
"""

import json
import os
import subprocess
import sys

# name: dtype, queries, keys, mask. Lengths end inside tiles, masks cut through.
TABLE = {
    "full": ("bf16", 200, 200, None),
    "causal": ("bf16", 136, 200, "causal_lower_right"),
    "window": ("f16", 130, 130, "window<40, 3>"),
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def table(head_dim, dtypes):
    text = ""
    for name, (dtype, sq, sk, mask) in TABLE.items():
        if dtype not in dtypes:
            continue
        q, k = (f"tensor<1x{s}x1x{head_dim}x{dtype}>" for s in (sq, sk))
        mask = f"{{mask = #heddle.mask<{mask}>}}" if mask else ""
        text += (f"func.func @{name}(%q: {q}, %k: {k}, %v: {k}) -> {q} {{\n"
                 f"  %o = heddle.attention %q, %k, %v {mask} : {q}, {k}, {k} -> {q}\n"
                 f"  return %o : {q}\n}}\n")
    return text


def listed(model, target):
    rows = [line.split() for line in
            run("heddle-compile", model, f"--target={target}", "--list-tiles").splitlines()]
    names = {f"{row[1]}_w{row[2]}_s{row[3]}" for row in rows if row[0].startswith("attention")}
    assert len(names) >= 4, (target, names)
    return sorted(names)


def main():
    what, head_dim, targets, folder = sys.argv[1:]
    targets = targets.split(",")
    os.makedirs(folder, exist_ok=True)
    model, bundle = (os.path.join(folder, "model" + end) for end in (".mlir", ".heddle"))
    with open(model, "w") as file:
        file.write(table(head_dim, ("bf16",) if what == "assemble" else ("bf16", "f16")))
    tiles = {target: listed(model, target) for target in targets}
    for tile in sorted(set().union(*tiles.values())):
        fits = [target for target in targets if tile in tiles[target]]
        if what == "assemble":
            report = json.loads(run("heddle-compile", model, f"--target={','.join(fits)}",
                                    f"--tile={tile}", "--cubin", "--report=json",
                                    "-o", bundle))
            for function in report["functions"]:
                for image in function["images"]:
                    for kernel in image["kernels"]:
                        assert kernel["spill_bytes"] == 0 == kernel["stack_bytes"], (
                            tile, image["target"], kernel)
                        assert kernel["tile"] == tile, kernel
            continue
        for function in TABLE:
            out = run("heddle-run", model, "--device=emulator", f"--target={fits[0]}",
                      f"--tile={tile}", f"--function={function}", "--threads=1",
                      "--check=reference")
            assert "matches the reference device" in out, (tile, function, out)
        print("ok", tile)


main()
