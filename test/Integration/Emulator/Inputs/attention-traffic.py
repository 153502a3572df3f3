"""Counters of bf16 attention with query tiles of 128 and 64.

Of 512 positions: bank conflicts and bytes; of 1024: products under a causal mask.

usage: attention-traffic.py WORKDIR
"""

import json
import os
import subprocess
import sys

BYTES = "smsp__sass_data_bytes_mem_global_op_"
FLOPS = "sm__ops_path_tensor_src_"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"



def counters(name, head_dim, length, heads, mask, tile, *options):
    model = os.path.join(sys.argv[1], name + ".mlir")
    tensor = f"tensor<1x{length}x{heads}x{head_dim}xbf16>"
    with open(model, "w") as file:
        file.write(f"""
func.func @main(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> {tensor} {{
  %o = heddle.attention %q, %k, %v {mask} : {tensor}, {tensor}, {tensor} -> {tensor}
  return %o : {tensor}
}}
""")
    done = subprocess.run(["heddle-run", model, "--device=emulator",
                           "--target=sm_80", f"--tile={tile}", "--threads=1",
                           "--report=json", *options],
                          check=True, capture_output=True, text=True)
    (kernel,) = json.loads(done.stdout)["emulator"]["kernels"]
    return kernel["counters"]


def traffic(head_dim, tile, length=512, heads=2):
    found = counters(tile, head_dim, length, heads, "", tile)
    # What is zero is not reported.
    for kind in ("ldgsts", "ldsm"):
        assert CONFLICTS + kind + ".sum" not in found, (tile, found)
    moved = sum(found.get(BYTES + kind + ".sum", 0) for kind in ("ld", "st", "ldgsts"))
    one = heads * length * head_dim * 2  # bytes of a tensor
    query_tiles = length // int(tile[1:tile.index("_")])
    least = 2 * one + 2 * one * query_tiles
    assert moved <= 1.1 * least, (tile, moved, least)
    print(f"D {head_dim} {tile}: {moved} bytes, {moved / least:.3f} of the least")


def causal(head_dim, tile, length=1024):
    def flops(mask):
        found = counters("causal", head_dim, length, 1, mask, tile, "--sanitize=none")
        return sum(n for name, n in found.items() if name.startswith(FLOPS))

    part = flops("{mask = #heddle.mask<causal>}") / flops("")
    assert 0.5 <= part <= 0.6, (tile, part)
    print(f"D {head_dim} {tile}: causal is {part:.3f} of full")


os.makedirs(sys.argv[1], exist_ok=True)
for tile in ("q128_k64_w8_s2", "q128_k128_w8_s1"):
    traffic(64, tile)
for tile in ("q64_k64_w4_s2", "q128_k64_w8_s1"):
    traffic(128, tile)
causal(64, "q128_k64_w8_s2")
causal(128, "q64_k64_w4_s2")
