"""The benchmark rows with PyTorch on the CPU (eager, default SDPA backend)."""

import common


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

    def transformer(self, row, params, dtype, x):
        functional = self.torch.nn.functional
        heads = row.get("heads", 8)
        for layer in range(row.get("layers", 4)):

            def get(name):
                return params["layers.%d.%s" % (layer, name)]

            def linear(name, values):
                return functional.linear(values,
                                         get(name + ".kernel").t().to(dtype),
                                         get(name + ".bias").to(dtype))

            def layer_norm(name, values):
                normed = functional.layer_norm(
                    values.float(), values.shape[-1:], get(name + ".scale"),
                    get(name + ".bias"), eps=1e-6)
                return normed.to(dtype)

            u = layer_norm("ln1", x)
            mixed = linear("attn.value", u)
            if row["attention"] != "no_attention":
                split = u.shape[:2] + (heads, u.shape[2] // heads)
                mixed = self.attention(
                    linear("attn.query", u).reshape(split),
                    linear("attn.key", u).reshape(split),
                    mixed.reshape(split), False).reshape(u.shape)
            x = x + linear("attn.out", mixed)
            hidden = functional.gelu(linear("mlp.up", layer_norm("ln2", x)),
                                     approximate="tanh")
            x = x + linear("mlp.down", hidden)
        return x

    def prepare(self, row, inputs):
        torch = self.torch
        dtype = getattr(torch, row["dtype"])
        tensors = {name: torch.from_numpy(value).to(
            torch.float32 if name.startswith("layers.") else dtype)
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

        # Eager: nothing is traced or compiled before the first call.
        extra = {"trace_s": 0.0, "compile_s": 0.0}
        return call, lambda: last[0].double().numpy(), extra


if __name__ == "__main__":
    common.main(TorchBackend, __doc__)
