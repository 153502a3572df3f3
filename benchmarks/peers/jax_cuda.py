"""The benchmark rows with JAX on a CUDA device, attention by XLA or by cuDNN
(--backend)."""

import os
import time

import numpy as np

import common
import jax_cpu


class JaxCudaBackend(jax_cpu.JaxBackend):
    def __init__(self, threads, backend):
        # Other frameworks want memory of the same device.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax
        import jax.numpy as jnp
        self.jax, self.jnp = jax, jnp
        if jax.default_backend() != "gpu":
            raise RuntimeError("expected a CUDA device, JAX finds %s"
                               % jax.default_backend())
        self.impl = "jax_" + backend
        self.backend = backend

    def version(self):
        return {"backend": "gpu", "jax": self.jax.__version__,
                "device_kind": self.jax.devices()[0].device_kind}

    def attention(self, query, key, value, causal):
        return self.jax.nn.dot_product_attention(
            query, key, value, is_causal=causal, implementation=self.backend)

    def prepare(self, row, inputs, form=""):
        call, read, extra = super().prepare(row, inputs, form)
        self.last = None

        def enqueue():
            self.last = call.enqueue()

        return enqueue, lambda: np.asarray(
            self.last.astype(self.jnp.float32), np.float64), extra

    def time(self, call, warmup, repeats):
        # JAX has no events: the host's clock round calls that run behind it.
        def sample(n):
            self.last.block_until_ready()
            start = time.perf_counter()
            for _ in range(n):
                call()
            self.last.block_until_ready()
            return 1e3 * (time.perf_counter() - start)

        return common.time_enqueued(sample, warmup, repeats)


if __name__ == "__main__":
    common.main(JaxCudaBackend, __doc__, ["xla", "cudnn"])
