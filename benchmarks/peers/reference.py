"""The models in NumPy and float64: what the peers' results are compared with.

Attention is compared on the first and the last (batch, head); a transformer on
the first batch entry.
"""

import numpy as np


def round_to(values, dtype):
    """Float64 values that are exact in `dtype`; bfloat16 by nearest even."""
    if dtype == "float32":
        return np.asarray(values, np.float32).astype(np.float64)
    if dtype == "float16":
        return np.asarray(values, np.float16).astype(np.float64)
    bits = np.asarray(values, np.float32).view(np.uint32)
    bits = bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))
    bits = bits & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


def transformer_parameters(row):
    """(name, shape) of every parameter, in the order of heddle-bench."""
    d = row["model_dim"]
    parameters = []
    for layer in range(row.get("layers", 4)):
        prefix = "layers.%d." % layer

        def add(name, *shape):
            parameters.append((prefix + name, shape))

        add("ln1.scale", d)
        add("ln1.bias", d)
        for projection in ("query", "key", "value", "out"):
            add("attn.%s.kernel" % projection, d, d)
            add("attn.%s.bias" % projection, d)
        add("ln2.scale", d)
        add("ln2.bias", d)
        add("mlp.up.kernel", d, 4 * d)
        add("mlp.up.bias", 4 * d)
        add("mlp.down.kernel", 4 * d, d)
        add("mlp.down.bias", d)
    return parameters


def attention(query, key, value, causal=False):
    """(S, D) each."""
    scores = query @ key.T / np.sqrt(query.shape[-1])
    if causal:
        rows, cols = np.indices(scores.shape, sparse=True)
        scores = np.where(rows >= cols, scores, -np.inf)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    return weights @ value / weights.sum(axis=-1, keepdims=True)


def attention_gradients(query, key, value, cotangent, causal=False):
    """Of sum(attention * cotangent) for query, key and value; (S, D) each."""
    scale = 1 / np.sqrt(query.shape[-1])
    scores = query @ key.T * scale
    if causal:
        rows, cols = np.indices(scores.shape, sparse=True)
        scores = np.where(rows >= cols, scores, -np.inf)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    out = weights @ value
    dots = (cotangent * out).sum(axis=-1, keepdims=True)
    of_scores = weights * (cotangent @ value.T - dots) * scale
    return of_scores @ key, of_scores.T @ query, weights.T @ cotangent


def layer_norm(x, scale, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-6) * scale + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def transformer(row, inputs, x):
    """x (T, d) of one batch entry."""
    heads = row.get("heads", 8)
    width = row["model_dim"] // heads
    for layer in range(row.get("layers", 4)):

        def get(name):
            return inputs["layers.%d.%s" % (layer, name)]

        def linear(name, values):
            return values @ get(name + ".kernel") + get(name + ".bias")

        u = layer_norm(x, get("ln1.scale"), get("ln1.bias"))
        mixed = linear("attn.value", u)
        if row["attention"] != "no_attention":
            query, key, value = (linear("attn.query", u),
                                 linear("attn.key", u), mixed)
            mixed = np.concatenate(
                [attention(query[:, s], key[:, s], value[:, s])
                 for s in (slice(h * width, (h + 1) * width)
                           for h in range(heads))], axis=-1)
        x = x + linear("attn.out", mixed)
        u = layer_norm(x, get("ln2.scale"), get("ln2.bias"))
        x = x + linear("mlp.down", gelu(linear("mlp.up", u)))
    return x


def compare(row, inputs, result):
    """finite, rel_err, max_abs_err and what was compared."""
    if (row["suite"] not in ("attention", "transformer") or
            row.get("op") == "train_step"):
        return {"finite": bool(np.isfinite(result).all()),
                "check": "finite values"}
    if row["suite"] == "attention":
        pairs = []
        for b, h in sorted({(0, 0), (row["batch"] - 1, row["heads"] - 1)}):
            arguments = [value[b, :, h] for value in inputs.values()]
            if row["mode"] == "fwd":
                pairs.append((result[b, :, h],
                              attention(*arguments, causal=row["causal"])))
                continue
            # rel_err is the largest of the three gradients.
            for got, want in zip(result, attention_gradients(
                    *arguments, causal=row["causal"])):
                size = np.abs(want).max()
                pairs.append((got[b, :, h] / size, want / size))
        what = "first and last (batch, head)"
    else:
        pairs = [(result[0], transformer(row, inputs, inputs["x"][0]))]
        what = "batch 0"
    error = max(float(np.abs(got - want).max()) for got, want in pairs)
    size = max(float(np.abs(want).max()) for _, want in pairs)
    finite = all(np.isfinite(part).all() for part in result)
    return {"finite": bool(finite), "rel_err": error / size,
            "max_abs_err": error, "check": what}
