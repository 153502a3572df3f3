"""Fused attention as it is written for Triton: FlashAttention-2 (Dao,
arXiv:2307.08691) with a program per query tile, whole key tiles and tiles on
the diagonal in two loops, and Triton's own pipelining of the loads.

`compile_attention` makes the machine code for a GPU that need not be there.
"""

import os

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402



def configs(sm, causal):
    """Queries and keys to a tile, warps, stages: what Triton's tutorial on fused
    attention tries. It leaves out small tiles of 8 warps on sm_90, and tiles with
    more keys than queries under a causal mask."""
    return [(queries, keys, warps, stages) for queries in (64, 128)
            for keys in (32, 64, 128) for warps in (4, 8)
            for stages in (2, 3, 4)
            if not (sm == 90 and warps == 8 and queries * keys < 128 * 128)
            and not (causal and queries < keys)]



@triton.jit
def key_tiles(acc, total, largest, query, key, value, stride_s, rows, begin, end,
              scale_log2: tl.constexpr, HEAD_DIM: tl.constexpr,
              KEYS: tl.constexpr, MASKED: tl.constexpr):
    columns = tl.arange(0, KEYS)
    dims = tl.arange(0, HEAD_DIM)
    key += dims[:, None] + (begin + columns)[None, :] * stride_s
    value += (begin + columns)[:, None] * stride_s + dims[None, :]
    for first in range(begin, end, KEYS):
        scores = tl.dot(query, tl.load(key))
        if MASKED:
            scores = tl.where(rows[:, None] >= (first + columns)[None, :],
                              scores, -1.0e6)
        highest = tl.maximum(largest, tl.max(scores, 1) * scale_log2)
        weights = tl.math.exp2(scores * scale_log2 - highest[:, None])
        factor = tl.math.exp2(largest - highest)
        acc = acc * factor[:, None]
        v = tl.load(value)
        acc = tl.dot(weights.to(v.dtype), v, acc)
        total = total * factor + tl.sum(weights, 1)
        largest = highest
        key += KEYS * stride_s
        value += KEYS * stride_s
    return acc, total, largest


@triton.jit
def attention(q, k, v, out, lse, stride_b, stride_s, stride_h, heads, length,
              scale_log2: tl.constexpr, HEAD_DIM: tl.constexpr,
              QUERIES: tl.constexpr, KEYS: tl.constexpr, CAUSAL: tl.constexpr):
    tile = tl.program_id(0)
    pair = tl.program_id(1)
    base = ((pair // heads).to(tl.int64) * stride_b +
            (pair % heads).to(tl.int64) * stride_h)
    rows = tile * QUERIES + tl.arange(0, QUERIES)
    dims = tl.arange(0, HEAD_DIM)
    at = base + rows[:, None] * stride_s + dims[None, :]
    query = tl.load(q + at)
    largest = tl.full([QUERIES], -float("inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    acc = tl.zeros([QUERIES, HEAD_DIM], tl.float32)
    whole = tile * QUERIES if CAUSAL else length
    acc, total, largest = key_tiles(
        acc, total, largest, query, k + base, v + base, stride_s, rows, 0, whole,
        scale_log2, HEAD_DIM, KEYS, False)
    if CAUSAL:
        acc, total, largest = key_tiles(
            acc, total, largest, query, k + base, v + base, stride_s, rows,
            whole, whole + QUERIES, scale_log2, HEAD_DIM, KEYS, True)
    tl.store(lse + pair * length + rows, largest + tl.math.log2(total))
    tl.store(out + at, (acc / total[:, None]).to(out.dtype.element_ty))


def compile_attention(sm, head_dim, causal, queries, keys, warps, stages):
    """(machine code, bytes of shared memory) of bf16 attention for sm_<sm>, by
    the assembler that comes with Triton. Strides and lengths are multiples of
    16, which Triton's launcher would find out."""
    signature = {name: "*bf16" for name in ("q", "k", "v", "out")}
    signature["lse"] = "*fp32"
    for name in ("stride_b", "stride_s", "stride_h", "heads", "length"):
        signature[name] = "i32"
    constants = {
        "scale_log2": 1.4426950408889634 / head_dim**0.5,
        "HEAD_DIM": head_dim, "QUERIES": queries, "KEYS": keys,
        "CAUSAL": causal,
    }
    divisible = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))}
    signature.update({name: "constexpr" for name in constants})
    source = ASTSource(fn=attention, signature=signature, constexprs=constants,
                       attrs=divisible)
    compiled = triton.compile(
        source, target=GPUTarget("cuda", sm, 32),
        options={"num_warps": warps, "num_stages": stages})
    return compiled.asm["cubin"], compiled.metadata.shared
