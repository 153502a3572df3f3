"""The benchmark rows with JAX on the CPU (XLA:CPU, attention by XLA)."""

import os
import time

import numpy as np

import common


class JaxBackend(common.Backend):
    impl = "jax_xla_cpu"

    def __init__(self, threads):
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ["NPROC"] = str(threads)
        import jax
        import jax.numpy as jnp
        self.jax, self.jnp = jax, jnp

    def version(self):
        return {"jax": self.jax.__version__}

    def attention(self, query, key, value, causal):
        return self.jax.nn.dot_product_attention(
            query, key, value, is_causal=causal, implementation="xla")

    def transformer(self, row):
        jax, jnp = self.jax, self.jnp
        dtype = getattr(jnp, row["dtype"])
        heads = row.get("heads", 8)

        def layer_norm(x, scale, bias):
            wide = x.astype(jnp.float32)
            centred = wide - wide.mean(axis=-1, keepdims=True)
            variance = (centred * centred).mean(axis=-1, keepdims=True)
            normed = centred * jax.lax.rsqrt(variance + 1e-6)
            return (normed * scale + bias).astype(dtype)

        def forward(params, x):
            for layer in range(row.get("layers", 4)):

                def get(name):
                    return params["layers.%d.%s" % (layer, name)]

                def linear(name, values):
                    kernel = get(name + ".kernel").astype(dtype)
                    return values @ kernel + get(name + ".bias").astype(dtype)

                u = layer_norm(x, get("ln1.scale"), get("ln1.bias"))
                mixed = linear("attn.value", u)
                if row["attention"] != "no_attention":
                    split = u.shape[:2] + (heads, u.shape[2] // heads)
                    mixed = self.attention(
                        linear("attn.query", u).reshape(split),
                        linear("attn.key", u).reshape(split),
                        mixed.reshape(split), False).reshape(u.shape)
                x = x + linear("attn.out", mixed)
                u = layer_norm(x, get("ln2.scale"), get("ln2.bias"))
                hidden = jax.nn.gelu(linear("mlp.up", u), approximate=True)
                x = x + linear("mlp.down", hidden)
            return x

        return forward

    def prepare(self, row, inputs):
        jax, jnp = self.jax, self.jnp
        dtype = getattr(jnp, row["dtype"])
        if row["suite"] == "attention":
            args = [jnp.asarray(inputs[name], dtype)
                    for name in ("query", "key", "value")]
            function = lambda q, k, v: self.attention(q, k, v, row["causal"])
        else:
            params = {name: jnp.asarray(value, jnp.float32)
                      for name, value in inputs.items() if name != "x"}
            args = [params, jnp.asarray(inputs["x"], dtype)]
            function = self.transformer(row)
        start = time.perf_counter()
        lowered = jax.jit(function).lower(*args)
        trace_s = time.perf_counter() - start
        start = time.perf_counter()
        compiled = lowered.compile()
        compile_s = time.perf_counter() - start
        memory = compiled.memory_analysis()
        extra = {"trace_s": trace_s, "compile_s": compile_s,
                 "temp_mb": memory.temp_size_in_bytes / common.MIB,
                 "arg_mb": memory.argument_size_in_bytes / common.MIB,
                 "out_mb": memory.output_size_in_bytes / common.MIB,
                 "alias_mb": memory.alias_size_in_bytes / common.MIB}
        last = []

        def call():
            last[:] = [compiled(*args)]
            last[0].block_until_ready()

        call.enqueue = lambda: compiled(*args)
        return call, lambda: np.asarray(last[0].astype(jnp.float32),
                                        np.float64), extra


if __name__ == "__main__":
    common.main(JaxBackend, __doc__)
