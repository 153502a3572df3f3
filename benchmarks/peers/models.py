"""Parameters, inputs and values of the models of heddle-bench, by its names."""

import math

import numpy as np

import reference

DATA = {"diffusion": 8, "ssm": 16, "train_loop": 16}


class Layout:
    """Collects (name, shape) in the order of heddle-bench."""

    def __init__(self):
        self.prefix = ""
        self.entries = []

    def add(self, name, *shape):
        self.entries.append((self.prefix + name, shape))

    def linear(self, name, fan_in, fan_out, bias=True):
        self.add(name + ".kernel", fan_in, fan_out)
        if bias:
            self.add(name + ".bias", fan_out)

    def norm(self, name, channels):
        self.add(name + ".scale", channels)
        self.add(name + ".bias", channels)


def diffusion(row, layout):
    d = row["model_dim"]
    layout.linear("in", DATA["diffusion"], d)
    layout.add("time.frequencies", 32)
    layout.linear("time.up", 64, 128)
    layout.linear("time.down", 128, 128)
    for layer in range(row.get("layers", 4)):
        layout.prefix = "layers.%d." % layer
        for half in "12":
            layout.norm("ln" + half, d)
            layout.linear("affine%s.up" % half, 128, 2 * d)
            layout.linear("affine%s.down" % half, 2 * d, 2 * d)
        for projection in ("query", "key", "value", "out"):
            layout.linear("attn." + projection, d, d)
        layout.linear("mlp.up", d, 4 * d)
        layout.linear("mlp.down", 4 * d, d)
    layout.prefix = ""
    layout.linear("out", d, DATA["diffusion"])


def ssm(row, layout):
    d, state = row["model_dim"], row.get("state", 128)
    layout.linear("in", DATA["ssm"], d)
    for layer in range(row.get("layers", 4)):
        layout.prefix = "layers.%d." % layer
        layout.norm("ln_a", d)
        layout.norm("ln_b", d)
        if row["cell"] == "mamba":
            layout.add("cell.a_log", state, d)
            layout.linear("cell.b", d, state)
            layout.linear("cell.c", d, state)
            layout.linear("cell.dt", d, d)
            layout.add("cell.skip", d)
        elif row["cell"] == "ssd":
            for name in ("query", "key", "value"):
                layout.linear("cell." + name, d, d)
            layout.linear("cell.alpha", d, 1)
        else:
            for name in ("nu", "theta", "gamma"):
                layout.add("cell." + name, d)
            for name in ("b_real", "b_imag", "c_real", "c_imag", "skip"):
                layout.linear("cell." + name, d, d, bias=False)
        layout.linear("mix", d, d)
        layout.linear("gate", d, d)
        layout.norm("ln_c", d)
        layout.linear("mlp.up", d, 4 * d)
        layout.linear("mlp.down", 4 * d, d)
    layout.prefix = ""
    layout.norm("ln", d)
    layout.linear("out", d, DATA["ssm"])


def train_loop(row, layout):
    width, data = row["width"], DATA["train_loop"]
    layout.linear("in", data, width)
    layout.linear("hidden", width, width)
    layout.linear("out", width, data)


def parameters(row):
    """(name, shape) of every parameter, in the order of heddle-bench."""
    if row["suite"] == "transformer":
        return reference.transformer_parameters(row)
    layout = Layout()
    {"diffusion": diffusion, "ssm": ssm, "train_loop": train_loop}[
        row["suite"]](row, layout)
    return layout.entries


def inputs(row):
    """(name, shape) of what a model is applied to."""
    if row["suite"] == "transformer":
        return [("x", (row["batch"], row["tokens"], row["model_dim"]))]
    if row["suite"] == "train_loop":
        return [("x", (row["batch"], DATA["train_loop"]))]
    entries = [("x", (row["batch"], row["tokens"], DATA[row["suite"]]))]
    if row["suite"] == "diffusion":
        entries.append(("t", (row["batch"],)))
    return entries


def scan_operands(row):
    """(name, shape) of the operands of a scan row, in order."""
    full = (row["batch"], row["seq"], row["model_dim"])
    state = (full[0], full[2])
    if row["op"] == "linear":
        return [("decay", full), ("b", full), ("initial_state", state)]
    if row["op"] == "linear_complex":
        return [("decay_real", full), ("b", full), ("decay_imag", full),
                ("b_imag", full), ("initial_state", state),
                ("initial_state_imag", state)]
    states = full[:2] + (row["state"],)
    return [("u", full), ("delta", full), ("a", (full[2], row["state"])),
            ("b", states), ("c", states), ("d", full[2:]),
            ("initial_state", state + (row["state"],))]


def in_dtype(name, shape):
    """Whether an argument of a scan row has the row's dtype; parameters and
    states, and cotangents of states, are float32."""
    return (len(shape) == 3 and not name.startswith("g_state") and
            not name.startswith("initial_state"))


def scan_cotangents(row):
    """(name, shape) of the cotangents of the results of a scan row: of the
    outputs, then of the final state."""
    full = (row["batch"], row["seq"], row["model_dim"])
    state = (full[0], full[2])
    if row["op"] == "linear_complex":
        return [("g", full), ("g_imag", full), ("g_state", state),
                ("g_state_imag", state)]
    if row["op"] == "selective":
        state += (row["state"],)
    return [("g", full), ("g_state", state)]


def values(rng, name, shape, dtype="float32"):
    """Values by the rules of heddle-bench, from another generator."""
    normal = rng.standard_normal(shape, dtype=np.float32)
    uniform = rng.random(shape, dtype=np.float32)
    # Queries of ssd are small, or the gates behind it saturate.
    scale = 1.0 / shape[-1] if ".cell.query." in name else 1.0
    if name.endswith(".kernel"):
        part = 0.05 if name.endswith(".alpha.kernel") else scale
        result = normal * np.float32(part / math.sqrt(shape[0]))
    elif name.endswith(".alpha.bias"):
        result = -0.05 + normal * np.float32(0.02)
    elif name.endswith(".dt.bias"):
        step = np.exp(np.log(1e-3) + uniform * np.log(100.0))
        result = step + np.log(-np.expm1(-step))
    elif name.endswith(".bias"):
        result = normal * np.float32(0.02 * scale)
    elif name.endswith(".scale"):
        result = 1 + normal * np.float32(0.02)
    elif name.endswith(".a_log"):
        result = np.broadcast_to(np.log1p(np.arange(shape[0]))[:, None], shape)
    elif name.endswith(".skip"):
        result = np.ones(shape)
    elif name.endswith(".nu"):
        result = np.log(-np.log(0.5 + 0.49 * uniform))
    elif name.endswith(".theta"):
        result = np.log(np.maximum(6.28 * uniform, 1e-3))
    elif name.endswith(".gamma"):
        result = -0.8 + normal * 0.02
    elif name == "t":
        result = uniform
    elif name == "delta":
        result = -3 + normal / 2
    elif name == "a":
        result = np.broadcast_to(-1.0 - np.arange(shape[1]), shape)
    elif name == "initial_state" and len(shape) == 3:
        result = 0.1 * normal
    elif name == "decay":
        result = 0.5 + 0.499 * uniform
    elif name in ("decay_real", "decay_imag"):
        result = -0.7 + 1.4 * uniform
    else:
        result = normal
    return reference.round_to(result, dtype)
