// Softmax attention, the smallest model: three inputs, one op.
//
//   build/bin/heddle-compile examples/attention.mlir -o build/attention.heddle --report
//   build/bin/heddle-run build/attention.heddle --check=reference
//
// The first command prints the signature, one kernel of the family `attention`
// and the memory plan. The second draws seeded inputs, prints the first values
// of the result, and says that it matches the reference device (f32: an error
// of at most 6e-6 of the largest value). Try also
//
//   build/bin/heddle-run build/attention.heddle --repeats=20
//   build/bin/heddle-run examples/attention.mlir --device=reference
//   build/bin/heddle-compile examples/attention.mlir --compile-to=tile
//
// REQUIRES: heddle-compile, heddle-run
// RUN: heddle-compile %s -o %t.heddle && heddle-run %t.heddle --check=reference | FileCheck %s

// CHECK: result 0{{.*}}: float32[2,200,4,64]
// CHECK-NEXT: all finite
// CHECK-NEXT: matches the reference device

// Axes are batch, position, head, head_dim. The scale is 1/sqrt(head_dim) where
// none is given. 200 positions fill no whole number of tiles: nothing is padded
// in memory.
func.func @attention(%query: tensor<2x200x4x64xf32> {heddle.arg_name = "query"},
                     %key: tensor<2x200x4x64xf32> {heddle.arg_name = "key"},
                     %value: tensor<2x200x4x64xf32> {heddle.arg_name = "value"})
    -> tensor<2x200x4x64xf32> {
  %out = heddle.attention %query, %key, %value
      : tensor<2x200x4x64xf32>, tensor<2x200x4x64xf32>, tensor<2x200x4x64xf32>
      -> tensor<2x200x4x64xf32>
  return %out : tensor<2x200x4x64xf32>
}
