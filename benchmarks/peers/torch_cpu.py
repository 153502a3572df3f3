"""The benchmark rows with PyTorch on the CPU (eager, default SDPA backend; scans
also with compiled blocks of steps)."""

import math

import numpy as np

import common
import models as model_layouts
import torch_models

# A form of a scan that needs more is no form for this machine.
MOST_TEMP_MB = 12 * 1024
# Tensors as large as all states that a form keeps for the gradients: what each
# step multiplies and what comes out, or what a compiled block cannot make again.
KEPT = {"steps": 5, "compiled": 3}


def kept_mb(row, form):
    """MiB of what a gradient keeps of the scans of a row."""
    backward = row.get("mode") == "fwd_bwd" or common.is_step(row)
    if not backward or form not in KEPT:
        return 0
    states = math.prod(row.get(key, 1) for key in ("batch", "seq", "tokens",
                                                   "model_dim", "layers"))
    if row.get("op") == "selective" or row.get("cell") == "mamba":
        states *= row.get("state", 128)
    elif row.get("cell") == "ssd":
        states *= row["model_dim"]
    elif row.get("op") == "linear_complex" or row.get("cell") == "lru":
        states *= 2
    return 4 * KEPT[form] * states / common.MIB


class TorchBackend(common.Backend):
    impl = "torch_cpu"

    def __init__(self, threads):
        import torch
        torch.set_num_threads(threads)
        self.torch = torch

    def version(self):
        return {"torch": self.torch.__version__}

    def attention(self, query, key, value, causal):
        """(batch, seq, heads, head_dim) each; the transposes are views."""
        out = self.torch.nn.functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2),
            is_causal=causal)
        return out.transpose(1, 2)

    def forms(self, row):
        if row.get("cell") == "ssd":
            return ["chunked", "compiled", "steps"]
        if row["suite"] in ("scan", "ssm"):
            return ["compiled", "steps"]
        return [""]

    def prepare(self, row, inputs, form=""):
        torch = self.torch
        if kept_mb(row, form) > MOST_TEMP_MB:
            raise MemoryError("gradients keep some %.0f MiB, at most %d"
                              % (kept_mb(row, form), MOST_TEMP_MB))
        if form == "compiled":
            # Programs of other shapes count against dynamo's limit.
            torch.compiler.reset()
        dtype = getattr(torch, row.get("dtype", "float32"))
        # Nothing is traced or compiled before the first call.
        extra = {"trace_s": 0.0, "compile_s": 0.0}
        last = []

        def read():
            if row["suite"] in ("scan", "ssm"):
                return [value.float().numpy() for value in last]
            if len(last) == 1:
                return last[0].double().numpy()
            if row["suite"] == "attention":
                return [value.double().numpy() for value in last]
            # Many results: the sum of each says whether it is finite.
            return np.asarray([float(value.double().sum()) for value in last])

        if row["suite"] == "attention":
            tensors = [torch.from_numpy(inputs[name]).to(dtype)
                       for name in ("query", "key", "value")]

            if row["mode"] == "fwd_bwd":
                cotangent = torch.from_numpy(inputs["cotangent"]).float()
                for tensor in tensors:
                    tensor.requires_grad_()

                def call():
                    out = self.attention(*tensors, row["causal"])
                    last[:] = torch.autograd.grad(out, tensors,
                                                  cotangent.to(dtype))

                return call, read, extra

            @torch.inference_mode()
            def call():
                last[:] = [self.attention(*tensors, row["causal"])]

            return call, read, extra
        models = torch_models.Models(torch, form)
        if row["suite"] == "scan":
            tensors = [torch.from_numpy(value).to(
                dtype if model_layouts.in_dtype(name, value.shape)
                else torch.float32) for name, value in inputs.items()]
            function = models.scan(row)

            def call():
                last[:] = function(*tensors)

            return call, read, extra
        names = [name for name, _ in model_layouts.inputs(row)]
        data = [torch.from_numpy(inputs[name]).to(dtype) for name in names]
        params = {name: torch.from_numpy(value).float()
                  for name, value in inputs.items() if name not in names}
        if common.is_step(row):
            step = models.train_step(row, params)

            def call():
                last[:] = step(*data)
        else:

            @torch.inference_mode()
            def call():
                last[:] = [models.forward(row, params, *data)]

        return call, read, extra


if __name__ == "__main__":
    common.main(TorchBackend, __doc__)
