"""The models of heddle-bench and their training steps in PyTorch (eager)."""

import numpy as np


class Models:
    """Forward passes and steps, on parameters by name. Scans step over time."""

    def __init__(self, torch):
        self.torch, self.functional = torch, torch.nn.functional

    def linear(self, params, name, x):
        bias = params.get(name + ".bias")
        return self.functional.linear(
            x, params[name + ".kernel"].t().to(x.dtype),
            None if bias is None else bias.to(x.dtype))

    def layer_norm(self, params, name, x):
        normed = self.functional.layer_norm(
            x.float(), x.shape[-1:], params[name + ".scale"],
            params[name + ".bias"], eps=1e-6)
        return normed.to(x.dtype)

    def gelu(self, x):
        return self.functional.gelu(x, approximate="tanh")

    def attention(self, params, prefix, u, heads, attend):
        value = self.linear(params, prefix + "value", u)
        if attend:
            split = u.shape[:2] + (heads, u.shape[2] // heads)
            query, key, value = (
                v.reshape(split).transpose(1, 2)
                for v in (self.linear(params, prefix + "query", u),
                          self.linear(params, prefix + "key", u), value))
            value = self.functional.scaled_dot_product_attention(
                query, key, value).transpose(1, 2).reshape(u.shape)
        return self.linear(params, prefix + "out", value)

    def transformer(self, row, params, x):
        for layer in range(row.get("layers", 4)):
            p = "layers.%d." % layer
            u = self.layer_norm(params, p + "ln1", x)
            x = x + self.attention(params, p + "attn.", u, row.get("heads", 8),
                                   row["attention"] != "no_attention")
            u = self.layer_norm(params, p + "ln2", x)
            x = x + self.linear(params, p + "mlp.down",
                                self.gelu(self.linear(params, p + "mlp.up", u)))
        return x

    def diffusion(self, row, params, x, t):
        torch, d = self.torch, row["model_dim"]
        angles = t.float()[:, None] * params["time.frequencies"] * (2 * np.pi)
        c = torch.cat([angles.cos(), angles.sin()], -1).to(x.dtype)
        c = self.functional.silu(self.linear(params, "time.up", c))
        c = self.linear(params, "time.down", c)
        rates = 1e4 ** (-2.0 * torch.arange(d // 2) / d)
        waves = torch.arange(row["tokens"])[:, None] * rates
        waves = torch.cat([waves.sin(), waves.cos()], -1).float()
        h = (self.linear(params, "in", x).float() + waves).to(x.dtype)

        def affine(name, values):
            both = self.linear(params, name + ".down", self.gelu(
                self.linear(params, name + ".up", c)))
            return values * (1 + both[:, None, :d]) + both[:, None, d:]

        for layer in range(row.get("layers", 4)):
            p = "layers.%d." % layer
            q = affine(p + "affine1", self.layer_norm(params, p + "ln1", h))
            h = h + self.attention(params, p + "attn.", q, row.get("heads", 8),
                                   row["attention"] != "no_attention")
            m = affine(p + "affine2", self.layer_norm(params, p + "ln2", h))
            h = h + self.linear(params, p + "mlp.down",
                                self.gelu(self.linear(params, p + "mlp.up", m)))
        return self.linear(params, "out", h)

    def train_loop(self, row, params, x):
        h = self.gelu(self.linear(params, "in", x))
        h = self.gelu(self.linear(params, "hidden", h))
        return self.linear(params, "out", h)

    def recurrence(self, a, b, reverse, start=None):
        """h_t = a_t h_{t-1} + b_t over axis 1; a (B, L, D) or (D). All states
        and the last one."""
        h = self.torch.zeros_like(b[:, 0]) if start is None else start
        states = []
        steps = range(b.shape[1])
        for t in reversed(steps) if reverse else steps:
            h = (a[:, t] if a.ndim == 3 else a) * h + b[:, t]
            states.append(h)
        if reverse:
            states.reverse()
        return self.torch.stack(states, 1), h

    def selective_scan(self, u, dt, a, b, c, skip, reverse=False, start=None):
        """The outputs and the last state."""
        torch = self.torch
        wide = [v.float() for v in (u, dt, b, c)]
        if start is None:
            start = torch.zeros((u.shape[0],) + tuple(a.shape))
        h, outputs = start, []
        steps = range(u.shape[1])
        for t in reversed(steps) if reverse else steps:
            u_, dt_, b_, c_ = (v[:, t] for v in wide)
            h = ((dt_[..., None] * a).exp() * h +
                 (dt_ * u_)[..., None] * b_[:, None])
            outputs.append(torch.einsum("bdn,bn->bd", h, c_))
        if reverse:
            outputs.reverse()
        return (torch.stack(outputs, 1) + skip * wide[0]).to(u.dtype), h

    def ssd(self, q, k, v, log_decay, reverse):
        torch = self.torch
        wide = [x.float() for x in (q, k, v, log_decay)]
        state, outputs = torch.zeros(q.shape[0], q.shape[2], v.shape[2]), []
        steps = range(q.shape[1])
        for t in reversed(steps) if reverse else steps:
            q_, k_, v_, a_ = (x[:, t] for x in wide)
            state = a_.exp()[..., None] * state + k_[..., None] * v_[:, None]
            outputs.append(torch.einsum("bk,bkd->bd", q_, state))
        if reverse:
            outputs.reverse()
        return torch.stack(outputs, 1).to(q.dtype)

    def cell(self, row, params, p, u, reverse):
        linear = lambda name, x=u: self.linear(params, p + name, x)
        if row["cell"] == "mamba":
            dt = self.functional.softplus(linear("cell.dt").float())
            return self.selective_scan(
                u, dt, -params[p + "cell.a_log"].exp().t(), linear("cell.b"),
                linear("cell.c"), params[p + "cell.skip"], reverse)[0]
        if row["cell"] == "ssd":
            return self.ssd(linear("cell.query"), linear("cell.key"),
                            linear("cell.value"), linear("cell.alpha"), reverse)
        torch = self.torch
        radius = (-params[p + "cell.nu"].exp()).exp()
        lam = torch.polar(radius, params[p + "cell.theta"].exp())
        gain = params[p + "cell.gamma"].exp()
        b = torch.complex(linear("cell.b_real").float() * gain,
                          linear("cell.b_imag").float() * gain)
        h, _ = self.recurrence(lam, b, reverse)
        return (linear("cell.c_real", h.real.to(u.dtype)) -
                linear("cell.c_imag", h.imag.to(u.dtype)) + linear("cell.skip"))

    def ssm(self, row, params, x):
        h = self.linear(params, "in", x)
        for layer in range(row.get("layers", 4)):
            p = "layers.%d." % layer
            u = self.layer_norm(params, p + "ln_b",
                                self.layer_norm(params, p + "ln_a", h))
            a = self.gelu(self.cell(row, params, p, u, layer % 2 == 1))
            h = h + (self.linear(params, p + "mix", a) *
                     self.linear(params, p + "gate", a).sigmoid())
            hidden = self.layer_norm(params, p + "ln_c", h)
            hidden = self.gelu(self.linear(params, p + "mlp.up", hidden))
            h = h + self.gelu(self.linear(params, p + "mlp.down", hidden))
        return self.linear(params, "out", self.layer_norm(params, "ln", h))

    def forward(self, row, params, *inputs):
        return getattr(self, row["suite"])(row, params, *inputs)

    def train_step(self, row, params):
        """A function of the inputs that updates `params` and returns [loss]."""
        torch = self.torch
        leaves = [value.requires_grad_() for value in params.values()]
        optimizer = torch.optim.Adam(leaves, lr=1e-3, foreach=True)

        def step(*inputs):
            optimizer.zero_grad(set_to_none=True)
            loss = self.forward(row, params, *inputs).float().square().mean()
            loss.backward()
            if row["suite"] == "train_loop":
                torch.nn.utils.clip_grad_norm_(leaves, 10.0)
            optimizer.step()
            return [loss.detach()]

        return step

    def scan(self, row):
        """The operands (and cotangents) of a scan row -> list of results."""
        torch = self.torch

        def forward(*operands):
            if row["op"] == "selective":
                u, delta, a, b, c, d, start = operands
                dt = self.functional.softplus(delta.float())
                return self.selective_scan(u, dt, a, b, c, d, start=start)
            if row["op"] == "linear":
                decay, b, start = operands
                h, last = self.recurrence(decay.float(), b.float(), False, start)
                return h.to(b.dtype), last
            real, b, imag, b_imag, start, start_imag = operands
            h, last = self.recurrence(torch.complex(real.float(), imag.float()),
                                      torch.complex(b.float(), b_imag.float()),
                                      False, torch.complex(start, start_imag))
            return (h.real.to(b.dtype), h.imag.to(b.dtype), last.real,
                    last.imag)

        if row["mode"] == "fwd":
            return torch.inference_mode()(forward)
        count = {"selective": 7, "linear": 3, "linear_complex": 6}[row["op"]]

        def gradients(*arguments):
            operands = [v.detach().requires_grad_() for v in arguments[:count]]
            loss = sum((y.float() * g).sum()
                       for y, g in zip(forward(*operands), arguments[count:]))
            return list(torch.autograd.grad(loss, operands))

        return gradients
