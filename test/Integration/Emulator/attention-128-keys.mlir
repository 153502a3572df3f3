// Tiles of 128 keys, whose queries are held in registers: of a single round, where
// the loop is gone, and of several, with the edge of a mask.

// RUN: heddle-run %s --device=emulator --target=sm_80 --tile=q128_k128_w8_s1 --function=one --threads=1 --check=reference | FileCheck %s
// RUN: heddle-run %s --device=emulator --target=sm_80 --tile=q128_k128_w8_s1 --function=two --threads=1 --check=reference | FileCheck %s
// RUN: heddle-run %s --device=emulator --target=sm_80 --tile=q128_k128_w8_s1 --function=causal --threads=1 --check=reference | FileCheck %s

// CHECK: matches the reference device
func.func @one(%q: tensor<1x128x1x128xbf16>, %k: tensor<1x128x1x128xbf16>, %v: tensor<1x128x1x128xbf16>) -> tensor<1x128x1x128xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x128x1x128xbf16>, tensor<1x128x1x128xbf16>, tensor<1x128x1x128xbf16> -> tensor<1x128x1x128xbf16>
  return %o : tensor<1x128x1x128xbf16>
}
func.func @two(%q: tensor<1x256x1x128xbf16>, %k: tensor<1x256x1x128xbf16>, %v: tensor<1x256x1x128xbf16>) -> tensor<1x256x1x128xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16> -> tensor<1x256x1x128xbf16>
  return %o : tensor<1x256x1x128xbf16>
}
func.func @causal(%q: tensor<1x256x1x128xbf16>, %k: tensor<1x256x1x128xbf16>, %v: tensor<1x256x1x128xbf16>) -> tensor<1x256x1x128xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16>, tensor<1x256x1x128xbf16> -> tensor<1x256x1x128xbf16>
  return %o : tensor<1x256x1x128xbf16>
}
