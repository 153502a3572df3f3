"""The attention rows with a fused kernel in Triton on a CUDA device: online
softmax over key tiles, the tiles below the diagonal apart from those on it."""

import common
import torch_cuda


def make_kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def visit(acc, total, top, query, k_base, v_base, begin, end, rows, length,
              stride, scale, KEYS: tl.constexpr, DIM: tl.constexpr,
              MASKED: tl.constexpr, CAUSAL: tl.constexpr):
        dims = tl.arange(0, DIM)
        for start in range(begin, end, KEYS):
            keys = start + tl.arange(0, KEYS)
            inside = keys[:, None] < length
            key = tl.load(k_base + keys[:, None] * stride + dims[None, :],
                          mask=inside, other=0.0)
            scores = tl.dot(query, tl.trans(key)) * scale
            if MASKED:
                visible = keys[None, :] < length
                if CAUSAL:
                    visible = visible & (rows[:, None] >= keys[None, :])
                scores = tl.where(visible, scores, float("-inf"))
            higher = tl.maximum(top, tl.max(scores, 1))
            weights = tl.math.exp2(scores - higher[:, None])
            shrink = tl.math.exp2(top - higher)
            total = total * shrink + tl.sum(weights, 1)
            value = tl.load(v_base + keys[:, None] * stride + dims[None, :],
                            mask=inside, other=0.0)
            acc = acc * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
            top = higher
        return acc, total, top

    @triton.jit
    def attention(q, k, v, out, length, heads, scale, QUERIES: tl.constexpr,
                  KEYS: tl.constexpr, DIM: tl.constexpr, CAUSAL: tl.constexpr):
        tile, pair = tl.program_id(0), tl.program_id(1)
        stride = heads * DIM
        base = (pair // heads).to(tl.int64) * length * stride + \
            (pair % heads) * DIM
        rows = tile * QUERIES + tl.arange(0, QUERIES)
        dims = tl.arange(0, DIM)
        at = base + rows[:, None] * stride + dims[None, :]
        query = tl.load(q + at, mask=rows[:, None] < length, other=0.0)
        acc = tl.zeros([QUERIES, DIM], tl.float32)
        total = tl.zeros([QUERIES], tl.float32)
        top = tl.full([QUERIES], float("-inf"), tl.float32)
        if CAUSAL:
            whole = tile * QUERIES // KEYS * KEYS
            end = tl.minimum((tile + 1) * QUERIES, length)
        else:
            whole = length // KEYS * KEYS
            end = length
        acc, total, top = visit(acc, total, top, query, k + base, v + base, 0,
                                whole, rows, length, stride, scale, KEYS, DIM,
                                False, CAUSAL)
        acc, total, top = visit(acc, total, top, query, k + base, v + base,
                                whole, end, rows, length, stride, scale, KEYS,
                                DIM, True, CAUSAL)
        tl.store(out + at, (acc / total[:, None]).to(out.dtype.element_ty),
                 mask=rows[:, None] < length)

    return triton, attention


class TritonBackend(torch_cuda.TorchCudaBackend):
    def __init__(self, threads):
        super().__init__(threads, "flash")
        self.triton, self.kernel = make_kernel()
        self.impl = "triton"

    def version(self):
        return {**super().version(), "triton": self.triton.__version__}

    def attention(self, query, key, value, causal):
        batch, length, heads, dim = query.shape
        if dim & (dim - 1) or dim < 16:
            raise ValueError("expected a head_dim that is a power of two from "
                             "16, got %d" % dim)
        queries, keys = 128, 64
        out = self.torch.empty_like(query)
        grid = (self.triton.cdiv(length, queries), batch * heads)
        self.kernel[grid](query.contiguous(), key.contiguous(),
                          value.contiguous(), out, length, heads,
                          dim**-0.5 * 1.4426950408889634, QUERIES=queries,
                          KEYS=keys, DIM=dim, CAUSAL=causal,
                          num_warps=4 if dim <= 64 else 8, num_stages=3)
        return out


if __name__ == "__main__":
    common.main(TritonBackend, __doc__)
