"""The benchmark rows with PyTorch on a CUDA device, eager, with one of the
backends of scaled_dot_product_attention (--backend)."""

import common
import torch_cpu

BACKENDS = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION",
            "cudnn": "CUDNN_ATTENTION", "math": "MATH"}


class TorchCudaBackend(torch_cpu.TorchBackend):
    def __init__(self, threads, backend):
        super().__init__(threads)
        from torch.nn import attention
        if not self.torch.cuda.is_available():
            raise RuntimeError("expected a CUDA device, PyTorch finds none")
        self.impl = "torch_" + backend
        self.kernels = attention.sdpa_kernel
        self.chosen = [getattr(attention.SDPBackend, BACKENDS[backend])]
        self.torch.set_float32_matmul_precision("highest")

    def version(self):
        return {"backend": "gpu", "torch": self.torch.__version__,
                "device_kind": self.torch.cuda.get_device_name()}

    def attention(self, query, key, value, causal):
        # A backend that does not take the inputs is an error, not another one.
        with self.kernels(self.chosen):
            return super().attention(query, key, value, causal)

    def prepare(self, row, inputs, form=""):
        torch = self.torch
        dtype = getattr(torch, row["dtype"])
        tensors = {name: torch.from_numpy(value).to(
            "cuda", torch.float32 if name.startswith("layers.") else dtype)
            for name, value in inputs.items()}
        last = []

        @torch.inference_mode()
        def call():
            if row["suite"] == "attention":
                out = self.attention(tensors["query"], tensors["key"],
                                     tensors["value"], row["causal"])
            else:
                out = self.transformer(row, tensors, dtype, tensors["x"])
            last[:] = [out]

        extra = {"trace_s": 0.0, "compile_s": 0.0}
        return call, lambda: last[0].double().cpu().numpy(), extra

    def time(self, call, warmup, repeats):
        torch = self.torch

        def sample(n):
            start, stop = (torch.cuda.Event(enable_timing=True)
                           for _ in range(2))
            start.record()
            for _ in range(n):
                call()
            stop.record()
            stop.synchronize()
            return start.elapsed_time(stop)

        return common.time_enqueued(sample, warmup, repeats)


if __name__ == "__main__":
    common.main(TorchCudaBackend, __doc__, list(BACKENDS))
