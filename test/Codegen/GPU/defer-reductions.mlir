// RUN: heddle-opt %s --pass-pipeline='builtin.module(gpu.module(heddle-gpu-defer-reductions))' | FileCheck %s

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]],
  lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 5]>
#r = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>

gpu.module @kernels {
  // A carried sum is kept for each of the four lanes of a row, the carried factor
  // as it is.
  // CHECK-LABEL: gpu.func @carried_sum
  gpu.func @carried_sum(%out: memref<16xf32>, %x: tensor<16x40xf32, #c>,
                        %f: tensor<16xf32, #r>) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #r>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    // CHECK: scf.for {{.*}} iter_args(%[[S:.+]] = %{{.+}}) -> (tensor<16x4xf32, #{{.*}}>)
    %sum = scf.for %i = %c0 to %c9 step %c1 iter_args(%s = %zero) -> (tensor<16xf32, #r>) {
      // CHECK: %[[P:.+]] = heddle_gpu.reduce add %{{.+}} axis 1 partial
      // CHECK: %[[F:.+]] = heddle_gpu.broadcast %{{.+}} dims [1]
      // CHECK: %[[N:.+]] = math.fma %[[S]], %[[F]], %[[P]]
      // CHECK: scf.yield %[[N]]
      %here = heddle_gpu.reduce add %x axis 1 : tensor<16x40xf32, #c>
      %next = math.fma %s, %f, %here : tensor<16xf32, #r>
      scf.yield %next : tensor<16xf32, #r>
    }
    // CHECK: heddle_gpu.reduce add %{{.+}} axis 1 : tensor<16x4xf32
    heddle_gpu.store %sum into %out[%c0] dims [0] : tensor<16xf32, #r> into memref<16xf32>
    gpu.return
  }

  // Where the body reads the sum itself each round needs the whole.
  // CHECK-LABEL: gpu.func @sum_that_is_read
  // CHECK-NOT: partial
  gpu.func @sum_that_is_read(%out: memref<16xf32>, %x: tensor<16x40xf32, #c>,
                             %f: tensor<16xf32, #r>) {
    %zero = arith.constant dense<0.0> : tensor<16xf32, #r>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %sum = scf.for %i = %c0 to %c9 step %c1 iter_args(%s = %zero) -> (tensor<16xf32, #r>) {
      %here = heddle_gpu.reduce add %x axis 1 : tensor<16x40xf32, #c>
      %factor = arith.mulf %s, %f : tensor<16xf32, #r>
      %next = math.fma %s, %factor, %here : tensor<16xf32, #r>
      scf.yield %next : tensor<16xf32, #r>
    }
    heddle_gpu.store %sum into %out[%c0] dims [0] : tensor<16xf32, #r> into memref<16xf32>
    gpu.return
  }
}
