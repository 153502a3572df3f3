// RUN: heddle-opt %s -split-input-file -heddle-plan-memory -verify-diagnostics

// expected-error@+1 {{expected one argument donated to result 0, got arguments 0 and 1; a result lives in one place}}
func.func @one_argument_per_result(%a: tensor<4xf32> {heddle.donate = 0 : i64}, %b: tensor<4xf32> {heddle.donate = 0 : i64}) -> tensor<4xf32> {
  return %b : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected heddle.donate of argument 0 to be the number of a result below 1, got 1}}
func.func @results_are_numbered(%a: tensor<4xf32> {heddle.donate = 1 : i64}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected argument 1, donated to result 0, to have its type 'tensor<4xf32>', got 'tensor<8xf32>'; donate it to a result of its own type}}
func.func @types_are_equal(%a: tensor<4xf32>, %b: tensor<8xf32> {heddle.donate = 0 : i64}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
