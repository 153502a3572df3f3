"""The attention rows with the flash-attn package on a CUDA device."""

import common
import torch_cuda


class FlashAttnBackend(torch_cuda.TorchCudaBackend):
    def __init__(self, threads):
        super().__init__(threads, "flash")
        import flash_attn
        self.flash_attn = flash_attn
        self.impl = "flash_attn"

    def version(self):
        return {**super().version(), "flash_attn": self.flash_attn.__version__}

    def attention(self, query, key, value, causal):
        return self.flash_attn.flash_attn_func(query, key, value, causal=causal)


if __name__ == "__main__":
    common.main(FlashAttnBackend, __doc__)
