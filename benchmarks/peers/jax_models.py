"""The models of heddle-bench and their training steps in JAX."""

import math

import numpy as np


class Models:
    """Forward passes and steps, on parameters by name.

    `form` says how scans run: "associative" (jax.lax.associative_scan),
    "sequential" (jax.lax.scan over time), and for ssd "chunked": products of
    chunks of 64 steps with differences of cumulated log decays, and a scan over
    their states (Dao and Gu, "Transformers are SSMs", section 6).
    """

    def __init__(self, jax, form="sequential"):
        self.jax, self.jnp, self.form = jax, jax.numpy, form

    # Layers

    def linear(self, params, name, x, dtype):
        y = x @ params[name + ".kernel"].astype(dtype)
        bias = params.get(name + ".bias")
        return y if bias is None else y + bias.astype(dtype)

    def layer_norm(self, params, name, x, dtype):
        wide = x.astype(self.jnp.float32)
        centred = wide - wide.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        normed = centred * self.jax.lax.rsqrt(variance + 1e-6)
        return (normed * params[name + ".scale"] +
                params[name + ".bias"]).astype(dtype)

    def gelu(self, x):
        return self.jax.nn.gelu(x, approximate=True)

    def attention(self, params, prefix, u, heads, dtype, attend):
        value = self.linear(params, prefix + "value", u, dtype)
        if attend:
            split = u.shape[:2] + (heads, u.shape[2] // heads)
            value = self.jax.nn.dot_product_attention(
                self.linear(params, prefix + "query", u, dtype).reshape(split),
                self.linear(params, prefix + "key", u, dtype).reshape(split),
                value.reshape(split), implementation="xla").reshape(u.shape)
        return self.linear(params, prefix + "out", value, dtype)

    # Models

    def transformer(self, row, params, x):
        dtype = x.dtype
        for layer in range(row.get("layers", 4)):
            p = "layers.%d." % layer
            u = self.layer_norm(params, p + "ln1", x, dtype)
            x = x + self.attention(params, p + "attn.", u, row.get("heads", 8),
                                   dtype, row["attention"] != "no_attention")
            u = self.layer_norm(params, p + "ln2", x, dtype)
            hidden = self.gelu(self.linear(params, p + "mlp.up", u, dtype))
            x = x + self.linear(params, p + "mlp.down", hidden, dtype)
        return x

    def diffusion(self, row, params, x, t):
        jnp, dtype = self.jnp, x.dtype
        d = row["model_dim"]
        angles = (t.astype(jnp.float32)[:, None] *
                  params["time.frequencies"] * (2 * np.pi))
        c = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], -1).astype(dtype)
        c = self.jax.nn.silu(self.linear(params, "time.up", c, dtype))
        c = self.linear(params, "time.down", c, dtype)
        rates = 1e4 ** (-2.0 * np.arange(d // 2) / d)
        waves = np.arange(row["tokens"])[:, None] * rates
        waves = np.concatenate([np.sin(waves), np.cos(waves)], -1)
        h = (self.linear(params, "in", x, dtype).astype(jnp.float32) +
             jnp.asarray(waves, jnp.float32)).astype(dtype)

        def affine(name, values):
            hidden = self.gelu(self.linear(params, name + ".up", c, dtype))
            both = self.linear(params, name + ".down", hidden, dtype)
            scale, shift = both[:, None, :d], both[:, None, d:]
            return values * (1 + scale) + shift

        for layer in range(row.get("layers", 4)):
            p = "layers.%d." % layer
            q = affine(p + "affine1", self.layer_norm(params, p + "ln1", h, dtype))
            h = h + self.attention(params, p + "attn.", q, row.get("heads", 8),
                                   dtype, row["attention"] != "no_attention")
            m = affine(p + "affine2", self.layer_norm(params, p + "ln2", h, dtype))
            hidden = self.gelu(self.linear(params, p + "mlp.up", m, dtype))
            h = h + self.linear(params, p + "mlp.down", hidden, dtype)
        return self.linear(params, "out", h, dtype)

    def train_loop(self, row, params, x):
        h = self.gelu(self.linear(params, "in", x, x.dtype))
        h = self.gelu(self.linear(params, "hidden", h, x.dtype))
        return self.linear(params, "out", h, x.dtype)

    # Scans over axis 1

    def recurrence(self, a, b, reverse, start=None):
        """h_t = a_t h_{t-1} + b_t; a broadcasts to b. All states and the last
        one."""
        jax, jnp = self.jax, self.jnp
        a = jnp.broadcast_to(a, b.shape)
        first, last = (-1, 0) if reverse else (0, -1)
        if self.form == "associative":
            if start is not None:
                b = b.at[:, first].add(a[:, first] * start)
            combine = lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1])
            h = jax.lax.associative_scan(combine, (a, b), axis=1,
                                         reverse=reverse)[1]
            return h, h[:, last]

        def step(h, ab):
            h = ab[0] * h + ab[1]
            return h, h

        end, h = jax.lax.scan(
            step, jnp.zeros_like(b[:, 0]) if start is None else start,
            (a.swapaxes(0, 1), b.swapaxes(0, 1)), reverse=reverse)
        return h.swapaxes(0, 1), end

    def selective_scan(self, u, dt, a, b, c, skip, reverse=False, start=None):
        """a (D, N), b and c (B, L, N), start (B, D, N). The outputs and the last
        state."""
        jax, jnp = self.jax, self.jnp
        f32 = jnp.float32
        wide = [v.astype(f32) for v in (u, dt, b, c)]
        if self.form == "associative":
            u_, dt_, b_, c_ = wide
            decay = jnp.exp(dt_[..., None] * a)
            added = (dt_ * u_)[..., None] * b_[:, :, None]
            h, end = self.recurrence(decay, added, reverse, start)
            y = jnp.einsum("bldn,bln->bld", h, c_)
        else:

            def step(h, now):
                u_, dt_, b_, c_ = now
                h = (jnp.exp(dt_[..., None] * a) * h +
                     (dt_ * u_)[..., None] * b_[:, None])
                return h, jnp.einsum("bdn,bn->bd", h, c_)

            if start is None:
                start = jnp.zeros((u.shape[0],) + a.shape, f32)
            end, y = jax.lax.scan(step, start,
                                  tuple(v.swapaxes(0, 1) for v in wide),
                                  reverse=reverse)
            y = y.swapaxes(0, 1)
        return (y + skip * wide[0]).astype(u.dtype), end

    def chunked_ssd(self, q, k, v, log_decay):
        jax, jnp = self.jax, self.jnp
        f32 = jnp.float32
        batch, length = q.shape[:2]
        size = math.gcd(length, 64)
        q, k, v, log_decay = (x.reshape(batch, length // size, size, x.shape[2])
                              for x in (q, k, v, log_decay.astype(f32)))
        total = jnp.cumsum(log_decay[..., 0], axis=2)
        gaps = total[..., :, None] - total[..., None, :]
        weights = jnp.exp(jnp.where(np.tri(size, dtype=bool), gaps, -jnp.inf))
        dot = lambda form, x, y: jnp.einsum(form, x, y,
                                            preferred_element_type=f32)
        scores = dot("bcik,bcjk->bcij", q, k) * weights
        out = dot("bcij,bcjd->bcid", scores.astype(q.dtype), v)
        left = jnp.exp(total[..., -1:] - total)[..., None]
        added = dot("bcjk,bcjd->bckd", (k * left).astype(q.dtype), v)
        whole = jnp.exp(total[..., -1])

        def step(state, now):
            decay, new = now
            return decay[:, None, None] * state + new, state

        _, states = jax.lax.scan(step, jnp.zeros_like(added[:, 0]),
                                 (whole.swapaxes(0, 1), added.swapaxes(0, 1)))
        states = states.swapaxes(0, 1).astype(q.dtype)
        out = out + dot("bcik,bckd->bcid", q, states) * jnp.exp(total)[..., None]
        return out.reshape(batch, length, -1).astype(q.dtype)

    def ssd(self, q, k, v, log_decay, reverse):
        jax, jnp = self.jax, self.jnp
        if self.form == "chunked":
            turn = (lambda x: x[:, ::-1]) if reverse else (lambda x: x)
            return turn(self.chunked_ssd(*map(turn, (q, k, v, log_decay))))

        def step(state, now):
            q_, k_, v_, a_ = now
            state = jnp.exp(a_)[..., None] * state + k_[..., None] * v_[:, None]
            return state, jnp.einsum("bk,bkd->bd", q_, state)

        f32 = jnp.float32
        start = jnp.zeros((q.shape[0], q.shape[2], v.shape[2]), f32)
        _, out = jax.lax.scan(
            step, start,
            tuple(x.astype(f32).swapaxes(0, 1) for x in (q, k, v, log_decay)),
            reverse=reverse)
        return out.swapaxes(0, 1).astype(q.dtype)

    def cell(self, row, params, p, u, reverse):
        jax, jnp, dtype = self.jax, self.jnp, u.dtype
        linear = lambda name, x=u: self.linear(params, p + name, x, dtype)
        if row["cell"] == "mamba":
            dt = jax.nn.softplus(linear("cell.dt").astype(jnp.float32))
            return self.selective_scan(
                u, dt, -jnp.exp(params[p + "cell.a_log"]).T, linear("cell.b"),
                linear("cell.c"), params[p + "cell.skip"], reverse)[0]
        if row["cell"] == "ssd":
            return self.ssd(linear("cell.query"), linear("cell.key"),
                            linear("cell.value"), linear("cell.alpha"), reverse)
        lam = jnp.exp(-jnp.exp(params[p + "cell.nu"]) +
                      1j * jnp.exp(params[p + "cell.theta"]))
        gain = jnp.exp(params[p + "cell.gamma"])
        f32 = jnp.float32
        b = ((linear("cell.b_real").astype(f32) +
              1j * linear("cell.b_imag").astype(f32)) * gain)
        h, _ = self.recurrence(lam.astype(jnp.complex64),
                               b.astype(jnp.complex64), reverse)
        y = (linear("cell.c_real", h.real.astype(dtype)) -
             linear("cell.c_imag", h.imag.astype(dtype)))
        return y + linear("cell.skip")

    def ssm(self, row, params, x):
        dtype = x.dtype
        h = self.linear(params, "in", x, dtype)
        for layer in range(row.get("layers", 4)):
            p = "layers.%d." % layer
            u = self.layer_norm(params, p + "ln_b",
                                self.layer_norm(params, p + "ln_a", h, dtype),
                                dtype)
            a = self.gelu(self.cell(row, params, p, u, layer % 2 == 1))
            h = h + (self.linear(params, p + "mix", a, dtype) *
                     self.jax.nn.sigmoid(self.linear(params, p + "gate", a,
                                                     dtype)))
            hidden = self.layer_norm(params, p + "ln_c", h, dtype)
            hidden = self.gelu(self.linear(params, p + "mlp.up", hidden, dtype))
            h = h + self.gelu(self.linear(params, p + "mlp.down", hidden, dtype))
        return self.linear(params, "out",
                           self.layer_norm(params, "ln", h, dtype), dtype)

    # Functions of a row

    def forward(self, row):
        """(params, inputs...) -> y."""
        model = getattr(self, row["suite"])
        return lambda params, *inputs: model(row, params, *inputs)

    def train_step(self, row):
        """(params, mu, nu, count, inputs...) -> the new ones and the loss."""
        jax, jnp = self.jax, self.jnp
        forward = self.forward(row)
        clip = 10.0 if row["suite"] == "train_loop" else None

        def loss(params, *inputs):
            return (forward(params, *inputs).astype(jnp.float32)**2).mean()

        def step(params, mu, nu, count, *inputs):
            value, grads = jax.value_and_grad(loss)(params, *inputs)
            if clip:
                norm = jnp.sqrt(sum((g * g).sum() for g in grads.values()))
                factor = jnp.minimum(clip / norm, 1.0)
                grads = {name: g * factor for name, g in grads.items()}
            count = count + 1
            c1 = 1 - 0.9**count.astype(jnp.float32)
            c2 = 1 - 0.999**count.astype(jnp.float32)
            mu = {n: 0.9 * mu[n] + 0.1 * g for n, g in grads.items()}
            nu = {n: 0.999 * nu[n] + 0.001 * g * g for n, g in grads.items()}
            params = {n: p - 1e-3 * (mu[n] / c1) /
                      (jnp.sqrt(nu[n] / c2) + 1e-8)
                      for n, p in params.items()}
            return params, mu, nu, count, value

        return step

    def fit(self, row):
        """(params, mu, nu, count, data, key) -> the new ones and the losses of
        the row's steps, each on a batch drawn from the data."""
        jax = self.jax
        step = self.train_step(row)

        def fit(params, mu, nu, count, data, key):

            def body(state, number):
                entries = jax.random.randint(
                    jax.random.fold_in(key, number), (row["batch"],), 0,
                    data.shape[0])
                *state, loss = step(*state, data[entries])
                return tuple(state), loss

            state, losses = jax.lax.scan(body, (params, mu, nu, count),
                                         self.jnp.arange(row["steps"]))
            return *state, losses

        return fit

    def scan(self, row):
        """The operands (and cotangents) of a scan row -> its results (and
        gradients)."""
        jax, jnp = self.jax, self.jnp

        def forward(*operands):
            f32 = jnp.float32
            if row["op"] == "selective":
                u, delta, a, b, c, d, start = operands
                dt = jax.nn.softplus(delta.astype(f32))
                return self.selective_scan(u, dt, a, b, c, d, start=start)
            if row["op"] == "linear":
                decay, b, start = operands
                h, end = self.recurrence(decay.astype(f32), b.astype(f32), False,
                                         start)
                return h.astype(b.dtype), end
            real, b, imag, b_imag, start, start_imag = operands
            h, end = self.recurrence((real + 1j * imag).astype(jnp.complex64),
                                     (b + 1j * b_imag).astype(jnp.complex64),
                                     False, start + 1j * start_imag)
            return (h.real.astype(b.dtype), h.imag.astype(b.dtype), end.real,
                    end.imag)

        if row["mode"] == "fwd":
            return forward
        count = {"selective": 7, "linear": 3, "linear_complex": 6}[row["op"]]

        def gradients(*arguments):
            cotangents = arguments[count:]

            def loss(*operands):
                results = forward(*operands)
                return sum((y.astype(jnp.float32) * g.astype(jnp.float32)).sum()
                           for y, g in zip(results, cotangents)), results

            found, results = jax.grad(
                loss, argnums=tuple(range(count)),
                has_aux=True)(*arguments[:count])
            return *results, *found

        return gradients
