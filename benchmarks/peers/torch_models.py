"""The models of heddle-bench and their training steps in PyTorch (eager)."""

import math

import numpy as np

# Steps of a scan that are compiled as one program.
BLOCK = 16


class Models:
    """Forward passes and steps, on parameters by name.

    `form` says how scans run: "steps" (eager, a loop over time), "compiled"
    (torch.compile of blocks of 16 steps, complex values as pairs of reals), and
    for ssd "chunked": products of chunks of 64 steps with differences of
    cumulated log decays, and a loop over their states (Dao and Gu,
    "Transformers are SSMs", section 6).
    """

    def __init__(self, torch, form="steps"):
        self.torch, self.functional = torch, torch.nn.functional
        self.form, self.programs = form, {}

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

    # Scans over axis 1. A step takes (state, now, constants), tuples all, and
    # returns the next state and what comes out.

    def steps(self, step, state, sequences, constants, reverse):
        outputs = []
        # unbind, since the gradient of each v[:, t] has the size of v.
        order = list(zip(*(v.unbind(1) for v in sequences)))
        for now in reversed(order) if reverse else order:
            state, out = step(state, now, constants)
            outputs.append(out)
        if reverse:
            outputs.reverse()
        return state, tuple(self.torch.stack(part, 1) for part in zip(*outputs))

    def walk(self, step, state, sequences, constants=(), reverse=False):
        """The last state, and what comes out of all steps."""
        torch = self.torch
        if self.form != "compiled":
            return self.steps(step, state, sequences, constants, reverse)
        key = step.__name__, reverse
        if key not in self.programs:
            self.programs[key] = torch.compile(
                lambda *args: self.steps(step, *args, reverse), dynamic=False)
        outputs = []
        blocks = list(zip(*(v.split(BLOCK, 1) for v in sequences)))
        for block in reversed(blocks) if reverse else blocks:
            state, out = self.programs[key](state, block, constants)
            outputs.append(out)
        if reverse:
            outputs.reverse()
        return state, tuple(torch.cat(part, 1) for part in zip(*outputs))

    @staticmethod
    def linear_step(state, now, constants):
        a, b = constants + now
        h = a * state[0] + b
        return (h,), (h,)

    @staticmethod
    def complex_step(state, now, constants):
        (h, h_imag), (a, a_imag, b, b_imag) = state, constants + now
        h, h_imag = (a * h - a_imag * h_imag + b,
                     a * h_imag + a_imag * h + b_imag)
        return (h, h_imag), (h, h_imag)

    def selective_step(self, state, now, constants):
        u, dt, b, c = now
        h = ((dt[..., None] * constants[0]).exp() * state[0] +
             (dt * u)[..., None] * b[:, None])
        if self.form == "compiled":
            return (h,), ((h * c[:, None]).sum(-1),)
        return (h,), (self.torch.einsum("bdn,bn->bd", h, c),)

    def ssd_step(self, state, now, constants):
        q, k, v, a = now
        h = a.exp()[..., None] * state[0] + k[..., None] * v[:, None]
        if self.form == "compiled":
            return (h,), ((h * q[..., None]).sum(1),)
        return (h,), (self.torch.einsum("bk,bkd->bd", q, h),)

    def recurrence(self, a, b, reverse, start=None):
        """h_t = a_t h_{t-1} + b_t; a (B, L, D) or (D). All states and the last
        one."""
        torch = self.torch
        if start is None:
            start = torch.zeros_like(b[:, 0])
        sequences, constants = ((b,), (a,)) if a.ndim == 1 else ((a, b), ())
        if not b.is_complex() or self.form != "compiled":
            (h,), (states,) = self.walk(self.linear_step, (start,), sequences,
                                        constants, reverse)
            return states, h
        pairs = lambda values: tuple(part for v in values
                                     for part in (v.real, v.imag))
        h, states = self.walk(self.complex_step, pairs([start]),
                              pairs(sequences), pairs(constants), reverse)
        return torch.complex(*states), torch.complex(*h)

    def selective_scan(self, u, dt, a, b, c, skip, reverse=False, start=None):
        """The outputs and the last state."""
        wide = tuple(v.float() for v in (u, dt, b, c))
        if start is None:
            start = self.torch.zeros((u.shape[0],) + tuple(a.shape))
        (h,), (y,) = self.walk(self.selective_step, (start,), wide, (a,),
                               reverse)
        return (y + skip * wide[0]).to(u.dtype), h

    def chunked_ssd(self, q, k, v, log_decay):
        torch = self.torch
        batch, length = q.shape[:2]
        size = math.gcd(length, 64)
        q, k, v, log_decay = (x.reshape(batch, length // size, size, x.shape[2])
                              for x in (q, k, v, log_decay.float()))
        total = log_decay[..., 0].cumsum(2)
        later = torch.ones(size, size, dtype=torch.bool).triu(1)
        weights = (total[..., :, None] - total[..., None, :]).masked_fill(
            later, -math.inf).exp()
        scores = (q @ k.transpose(2, 3)).float() * weights
        out = (scores.to(q.dtype) @ v).float()
        left = (total[..., -1:] - total).exp()[..., None]
        added = ((k * left).to(q.dtype).transpose(2, 3) @ v).float()
        whole = total[..., -1].exp()[..., None, None]
        state, states = torch.zeros_like(added[:, 0]), []
        for decay, new in zip(whole.unbind(1), added.unbind(1)):
            states.append(state)
            state = decay * state + new
        states = torch.stack(states, 1).to(q.dtype)
        out = out + (q @ states).float() * total.exp()[..., None]
        return out.reshape(batch, length, -1).to(q.dtype)

    def ssd(self, q, k, v, log_decay, reverse):
        if self.form == "chunked":
            turn = (lambda x: x.flip(1)) if reverse else (lambda x: x)
            return turn(self.chunked_ssd(*map(turn, (q, k, v, log_decay))))
        start = self.torch.zeros(q.shape[0], q.shape[2], v.shape[2])
        wide = tuple(x.float() for x in (q, k, v, log_decay))
        _, (out,) = self.walk(self.ssd_step, (start,), wide, reverse=reverse)
        return out.to(q.dtype)

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
        """A function of the inputs that updates `params` and returns the loss and
        all gradients."""
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
            return [loss.detach()] + [leaf.grad for leaf in leaves]

        return step

    def scan(self, row):
        """The operands (and cotangents) of a scan row -> list of results (and
        gradients)."""
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
            results = forward(*operands)
            loss = sum((y.float() * g.float()).sum()
                       for y, g in zip(results, arguments[count:]))
            return [y.detach() for y in results] + list(
                torch.autograd.grad(loss, operands))

        return gradients
