"""The benchmark rows with JAX on the CPU (XLA:CPU, attention by XLA)."""

import os
import time

import numpy as np

import common
import jax_models
import models as model_layouts

# A form of a scan that needs more is no form for this machine.
MOST_TEMP_MB = 12 * 1024
# What fit_array draws from, in batches.
DATA_BATCHES = 16


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

    def functions(self, row, form):
        """What a row computes, with scans in one form."""
        models = jax_models.Models(self.jax, form)
        if row["suite"] == "attention":
            forward = lambda q, k, v: self.attention(q, k, v, row["causal"])
            if row["mode"] == "fwd":
                return forward
            loss = lambda q, k, v, g: (
                forward(q, k, v).astype(self.jnp.float32) * g).sum()
            return self.jax.grad(loss, argnums=(0, 1, 2))
        if row["suite"] == "scan":
            return models.scan(row)
        if row.get("op") == "fit_array":
            return models.fit(row)
        return models.train_step(row) if (
            common.is_step(row) or common.is_fit(row)) else models.forward(row)

    def arguments(self, row, inputs):
        jnp = self.jnp
        dtype = getattr(jnp, row.get("dtype", "float32"))
        if row["suite"] == "attention":
            return [jnp.asarray(value, jnp.float32 if name == "cotangent"
                                else dtype) for name, value in inputs.items()]
        if row["suite"] == "scan":
            return [jnp.asarray(value, dtype if model_layouts.in_dtype(
                name, value.shape) else jnp.float32)
                    for name, value in inputs.items()]
        last = [name for name, _ in model_layouts.inputs(row)]
        params = {name: jnp.asarray(value, jnp.float32)
                  for name, value in inputs.items() if name not in last}
        args = [params]
        if common.is_step(row) or common.is_fit(row):
            zeros = {name: jnp.zeros_like(value)
                     for name, value in params.items()}
            # Donated buffers have to differ.
            args += [zeros, self.jax.tree.map(jnp.copy, zeros), jnp.int32(0)]
        if row.get("op") == "fit_array":
            data = np.concatenate([inputs["x"]] * DATA_BATCHES)
            return args + [jnp.asarray(data, dtype), self.jax.random.key(0)]
        return args + [jnp.asarray(inputs[name], dtype) for name in last]

    def compile(self, function, args, donated=()):
        """The program, and trace_s, compile_s and the memory figures."""
        start = time.perf_counter()
        lowered = self.jax.jit(function, donate_argnums=donated).lower(*args)
        trace_s = time.perf_counter() - start
        start = time.perf_counter()
        compiled = lowered.compile()
        compile_s = time.perf_counter() - start
        memory = compiled.memory_analysis()
        return compiled, {
            "trace_s": trace_s, "compile_s": compile_s,
            "temp_mb": memory.temp_size_in_bytes / common.MIB,
            "arg_mb": memory.argument_size_in_bytes / common.MIB,
            "out_mb": memory.output_size_in_bytes / common.MIB,
            "alias_mb": memory.alias_size_in_bytes / common.MIB}

    def prepare_fit(self, row, inputs):
        """State is donated; the batches of fit_stream come from the host, each
        while the step before it runs."""
        jax = self.jax
        args = self.arguments(row, inputs)
        compiled, extra = self.compile(self.functions(row, ""), args,
                                       donated=(0, 1, 2, 3))
        state, data = args[:4], args[4:]
        host = [np.array(data[0]) for _ in range(2)]
        last = []

        def steps(count):
            batch = jax.device_put(host[0])
            for number in range(count):
                now = data if row["op"] == "fit_array" else [batch]
                *state[:], loss = compiled(*state, *now)
                if row["op"] == "fit_stream":
                    batch = jax.device_put(host[number % 2])
            last[:] = [loss]
            jax.block_until_ready(state)

        def call():
            steps(1)

        def sample(count):
            start = time.perf_counter()
            steps(count)
            return 1e3 * (time.perf_counter() - start)

        call.sample = sample
        return call, lambda: np.asarray(last[0], np.float64), extra

    def time(self, call, warmup, repeats):
        if hasattr(call, "sample"):
            return common.time_enqueued(call.sample, warmup, repeats)
        return super().time(call, warmup, repeats)

    def forms(self, row):
        if row.get("cell") == "ssd":
            return ["sequential", "chunked"]
        if row["suite"] == "scan" or row.get("cell") in ("mamba", "lru"):
            return ["sequential", "associative"]
        return [""]

    def prepare(self, row, inputs, form=""):
        if common.is_fit(row):
            return self.prepare_fit(row, inputs)
        jax, jnp = self.jax, self.jnp
        args = self.arguments(row, inputs)
        compiled, extra = self.compile(self.functions(row, form), args)
        if extra["temp_mb"] > MOST_TEMP_MB:
            raise MemoryError("%.0f MiB of temporaries, at most %d"
                              % (extra["temp_mb"], MOST_TEMP_MB))
        last = []

        def call():
            last[:] = [compiled(*args)]
            jax.block_until_ready(last[0])

        call.enqueue = lambda: compiled(*args)

        def read():
            if row["suite"] in ("scan", "ssm"):
                results = last[0]
                if common.is_step(row):
                    # The first moments of Adam, from zero, are 0.1 gradients.
                    results = [results[4]] + [
                        10 * results[1][name]
                        for name, _ in model_layouts.parameters(row)]
                return [np.asarray(leaf.astype(jnp.float32))
                        for leaf in jax.tree.leaves(results)]
            leaves = jax.tree.leaves(last[0])
            if len(leaves) == 1:
                return np.asarray(leaves[0].astype(jnp.float32), np.float64)
            if row["suite"] == "attention":
                return [np.asarray(leaf.astype(jnp.float32), np.float64)
                        for leaf in leaves]
            # Many results: the sum of each says whether it is finite.
            return np.asarray([float(leaf.astype(jnp.float32).sum())
                               for leaf in leaves])

        return call, read, extra


if __name__ == "__main__":
    common.main(JaxBackend, __doc__)
