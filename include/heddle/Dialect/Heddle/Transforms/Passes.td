//===- Passes.td - passes on the heddle dialect ---------------------------===//

#ifndef HEDDLE_TRANSFORMS_PASSES_TD
#define HEDDLE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeAttentionPass : Pass<"heddle-decompose-attention"> {
  let summary = "rewrites heddle.attention into plain linalg";
  let description = [{
    Writes attention out as contractions, reductions and elementwise ops over
    the whole score tensor (B, Hk, H/Hk, Sq, Sk). This is the readable form of
    what the op means, for devices and tests that know no attention kernel; it
    needs memory for all scores.

    All masks, operands, layouts and the score region are covered, with the
    conventions of the op: masked scores become -inf by selection, and a
    masked value row is selected away before it is multiplied, so that a NaN in
    it stays where it is; a row without visible keys gives 0 and lse -inf.
    Products accumulate in f32, `p` is rounded to the type of value. `precision =
    tf32` allows rounding and demands none, so products stay IEEE.

    Shapes must be static. Constraint: none of the op's operands may be dynamic.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def DecomposeSsdPass : Pass<"heddle-decompose-ssd"> {
  let summary = "rewrites heddle.ssd into chunked products in plain linalg";
  let description = [{
    Time is cut into chunks. Within a chunk every pair of positions meets in a
    matrix product of decayed scores; one state per chunk and a
    `heddle.linear_scan` over these connect the chunks. No tensor has a state
    per position: memory is that of (B, L, H, chunk) and (B, L / chunk, H, dk,
    dv).

    The log decay between two positions is the difference of two running sums,
    kept in two parts: multiples of a power of two, whose sums do not round, and
    the rest, which stays small. So logs of any size and sign give what the
    recurrence gives. With `log_decay_nonpositive` no difference is above 0. Logs
    below -1024 count as -1024, which decays to zero all the same. Decayed
    scores, queries and keys are rounded to the element type; sums and states are
    f32. Every length, resets, groups, both states and `reverse` are covered. A
    NaN reaches all of its chunk.

    The result uses what differentiation has rules for. Shapes must be static.
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "128", "positions of a chunk">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def DecomposeScanGradPass : Pass<"heddle-decompose-scan-grad"> {
  let summary = "rewrites heddle.linear_scan_grad into a scan and plain linalg";
  let description = [{
    The cotangents of the states are a `heddle.linear_scan` the other way round;
    gradients of the decay and of the initial state are products with it. All
    operands are covered. One kernel for the op reads and writes less:
    differentiation uses this form where it goes through a gradient, for a second
    derivative. Shapes must be static.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def DecomposeSelectiveScanPass : Pass<"heddle-decompose-selective-scan"> {
  let summary = "rewrites heddle.selective_scan into a linear scan and plain linalg";
  let description = [{
    Each state of each channel becomes a channel of a `heddle.linear_scan`: decays
    exp(dt a) and inputs dt b u of shape (B, L, D N), then the sum over states,
    skip and gate. All operands are covered, in f32. It needs memory for all
    states, (B, L, D, N), where the kernel of the op keeps those of one step.
    Differentiation uses this form where the gradient of a selective scan is
    differentiated again. Shapes must be static.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def InlineRegionsPass : Pass<"heddle-inline-regions", "::mlir::func::FuncOp"> {
  let summary = "inlines checkpoints, drops names and unrolls layer scans";
  let description = [{
    Forward programs need no remat annotation: `heddle.checkpoint` is replaced by
    its body, `heddle.name` by its operand, and `heddle.layer_scan` by L copies
    of its body on slices of the stacked operands.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def OutlineLoopsPass : Pass<"heddle-outline-loops", "::mlir::ModuleOp"> {
  let summary = "keeps layer scans of many layers as loops over commands";
  let description = [{
    A `heddle.layer_scan` of more than `unroll` layers becomes a launch of a
    declared loop, and its region a function of its own that is fused and planned
    once; the command list repeats it. So neither compile time nor code grows
    with the number of layers, or of training steps. What the loop carries stays
    in place from one iteration to the next. Layer scans of fewer layers are
    left to `heddle-inline-regions`: unrolled, they fuse and share memory with
    what is round them.
  }];
  let options = [
    Option<"unroll", "unroll", "int64_t", "32",
           "most layers that are unrolled">
  ];
  let dependentDialects = [
    "::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::heddle::HeddleDialect"
  ];
}

def SplitAttentionGradPass : Pass<"heddle-split-attention-grad", "::mlir::func::FuncOp"> {
  let summary = "makes one heddle.attention_grad per kernel";
  let description = [{
    A kernel owns what it writes: d_query (which leaves `row_dots` for the
    others), d_key with d_value, and d_bias become ops of their own. The
    gradients of sinks, and of a bias that all pairs of a head share, are
    finished by small sums in linalg. Ops that are one kernel already, and ops
    of dynamic shape, stay.

    With `threads`, the workers of a CPU, d_query, d_key and d_value stay
    together where the key heads of all batch entries feed them: d_query is then
    added up in memory, in f32, by the block that owns the key head.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", "0",
           "workers that blocks of whole key heads may feed; 0: never">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def KeepScanStatesPass : Pass<"heddle-keep-scan-states", "::mlir::func::FuncOp"> {
  let summary = "hands states of a selective scan to its gradient on a GPU";
  let description = [{
    Where a `heddle.selective_scan` stands before a gradient of the same operands
    in the same block, it leaves its states at the boundaries of chunks, and the
    gradient reads them: it need not walk forward over all steps, which reads u,
    delta and b again. The length of a chunk is what the gradient's kernel takes;
    where the kernel has chunks so short that their states are many times u, and
    for sequences of one chunk, nothing changes. Of several scans the last one
    serves, so that a scan that is made again to save memory does. Scans and
    gradients over chunks of time (`heddle-chunk-scans`) stay.
  }];
  let dependentDialects = ["::heddle::HeddleDialect"];
}

def ChunkScansPass : Pass<"heddle-chunk-scans", "::mlir::func::FuncOp"> {
  let summary = "cuts the time of scans that would leave a GPU idle into chunks";
  let description = [{
    A scan of few channels in few batch entries is few blocks. Its time becomes
    chunks, and the scan three kernels: `heddle.linear_scan_maps` or
    `heddle.selective_scan_maps`, what each chunk makes of the state before it; a
    `heddle.linear_scan` over these, the state that enters each chunk; and the
    scan itself, each chunk from its own state. Inputs of a recurrence are read
    twice, so that this is done only where at least 8 chunks come of it, of at
    least 256 steps, or 128 of a selective scan, and with at most two blocks to a
    multiprocessor. `heddle.linear_scan_grad` is walked backward in the same way.

    A `heddle.selective_scan_grad` gets initial states of its chunks from maps
    forward, those of a chunked scan of the same operands before it where there is
    one, and cotangents of their final states from maps of the walk backward.
    Scans that leave their states, and gradients that take them, stay.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", "108",
           "multiprocessors that a grid should feed">,
    Option<"chunks", "chunks", "int64_t", "0",
           "chunks of every scan, at most one for 16 steps; 0: chosen, 1: none">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def SplitScansPass : Pass<"heddle-split-scans", "::mlir::func::FuncOp"> {
  let summary = "leaves the sums of scan gradients over blocks to other kernels";
  let description = [{
    `heddle.selective_scan_grad` gets `partial_sums`: as many blocks to a batch
    entry as the target wants, each with its own part of the gradients of b and
    c. The parts, and the parts by batch entry of the gradients of a, d and
    delta_bias, are added by linalg.reduce, in a fixed order. So are the parts of
    a decay that is constant over time in `heddle.linear_scan_grad`.
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "32", "rows of a panel on the target">,
    Option<"threads", "threads", "int64_t", "2", "workers that a grid should feed">,
    Option<"matrixUnits", "matrix-units", "bool", "false", "the target is a GPU">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def DifferentiatePass : Pass<"heddle-differentiate", "::mlir::ModuleOp"> {
  let summary = "expands heddle.value_and_grad by reverse mode";
  let description = [{
    Every `heddle.value_and_grad` is replaced by the loss and its gradients: the
    callee is inlined, and one sweep walks back from its value by the rules of
    `DifferentiableOpInterface` (docs/differentiation.md). Only ops that lie
    between a wanted argument and the value are differentiated, and only values
    that a rule reads are kept. A value with several users sums their
    contributions in f32. An argument that the value does not depend on has the
    gradient zero.

    Checkpoints are inlined. Losses may contain `heddle.value_and_grad`; private
    losses that nothing refers to any more are removed. An op without a rule is
    an error at the op, with the ops between it and the value as notes.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::func::FuncDialect", "::heddle::HeddleDialect"
  ];
}

def FoldCastsPass : Pass<"heddle-fold-casts", "::mlir::func::FuncOp"> {
  let summary = "drops a widening that is rounded back";
  let description = [{
    Differentiation of mixed precision widens cotangents to add them up and rounds
    the sums. Rounding a widened value back is the value itself, so that the next
    op reads what is in memory and nothing is computed twice:

    ```
    %wide = arith.extf %x : tensor<8xbf16> to tensor<8xf32>
    %y = arith.truncf %wide : tensor<8xf32> to tensor<8xbf16>   // is %x
    ```

    A `linalg.generic` that only widens counts as `arith.extf`.
  }];
}

def WidenDecaysPass : Pass<"heddle-widen-decays", "::mlir::func::FuncOp"> {
  let summary = "computes decays that are constant over time in f64";
  let description = [{
    A linear scan applies a decay `a` of shape (D) at every step: an error of it
    counts as often as the state lasts, 1 / (1 - |a|) steps. Most comes from
    rounding on the way to `a`, where functions follow one another: the phase of
    exp(-exp(nu)) (cos(exp(theta)) + i sin(exp(theta))) is up to 2 pi before its
    sine is taken. `a` has few elements, so the elementwise ops that make it from
    f32 become one op that computes in f64 and rounds once:

    ```
    ^bb0(%theta: f32, %out: f32):
      %wide = arith.extf %theta : f32 to f64
      %phase = math.exp %wide : f64
      %cos = math.cos %phase : f64
      %a = arith.truncf %cos : f64 to f32
    ```

    What else reads the values in between gets them as before. Ops on anything
    but f32, and decays of other types, stay.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect"
  ];
}

def SplitReductionsPass : Pass<"heddle-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "long reductions become sums of parts";
  let description = [{
    A reduction over many elements becomes one over parts of a fixed length, which
    are independent of one another, and one over the parts. The lengths follow from
    shapes alone: a sum has one order, whatever the number of threads.

    ```
    s[n] += x[m, n], m < 65536   =>   p[i, n] += x[i * 1024 + k, n]
                                      s[n]    += p[i, n]
    ```

    Elements beyond the last whole part are reduced on their own and start the sum.
    A reduction to rank 0 keeps its last axis first. Sums of 16-bit values are
    formed in f32 and rounded once.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CollapseReductionsPass : Pass<"heddle-collapse-reductions", "::mlir::func::FuncOp"> {
  let summary = "merges reduction loops that lie side by side in memory";
  let description = [{
    Gradients of what all positions share are sums over batch and time:

    ```
    dw[k, n] += x[b, t, k] * dy[b, t, n]
    ```

    One loop makes longer tiles than two, so that b and t become one through views
    of the operands. Loops that some operand has in another order, or apart, stay,
    and so do all where an operand is elementwise of what is in memory: a view
    would have to be of memory, and the kernel could not compute the operand.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FuseKernelsPass : Pass<"heddle-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "groups graph ops into kernels and outlines them (towards contract K)";
  let description = [{
    Decides which values are kept in memory; every kept value becomes the result
    of one kernel, which recomputes the cheap ops between it and other kept
    values. Kernels are outlined as private functions, equal ones are merged,
    and the entry function becomes a list of `heddle.launch`.
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "32", "rows of a panel on the target">,
    Option<"threads", "threads", "int64_t", "2", "workers that a grid should feed">,
    Option<"matrixUnits", "matrix-units", "bool", "false",
           "products take 16-bit operands as they are in memory">
  ];
  let dependentDialects = [
    "::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::heddle::HeddleDialect"
  ];
}

def ScheduleKernelsPass : Pass<"heddle-schedule-kernels", "::mlir::ModuleOp"> {
  let summary = "orders launches so that fewer bytes live at once";
  let description = [{
    Moves launches of the entry functions earlier or later, within what their
    operands allow, wherever that lowers the peak of live temporaries; results
    and arguments do not count. A parameter's update runs as soon as its gradient
    is complete, a large value is made just before its first reader. The order
    of the model stays where no move helps.
  }];
}

def PlanMemoryPass : Pass<"heddle-plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every kept value a place in memory (contract K)";
  let description = [{
    Values that die where a kernel may write over them share the buffer of the
    kernel's result; a value that is returned lives in the result's buffer, or
    in a donated argument (argument attribute `heddle.donated`) of its type,
    with a copy at the end where that argument is needed until then. The rest
    goes into results that are not written yet, into donated arguments that are
    not needed any more, or gets offsets in one arena, by several greedy orders
    and a bounded search. The entry function then takes arguments, results,
    arena and constants as buffers, and kernels write into buffers. Attributes
    `heddle.arena_bytes`, `heddle.max_live_bytes`, `heddle.work_bytes` and, with
    donation, `heddle.donated_arguments` and `heddle.aliases` on the function
    report the plan.
  }];
  let dependentDialects = [
    "::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::heddle::HeddleDialect"
  ];
}

def VerifyModelPass : Pass<"heddle-verify-model", "::mlir::ModuleOp"> {
  let summary = "checks contract M and lists everything that breaks it";
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "also refuse what this target cannot run yet (cpu, gpu)">
  ];
}

def VerifyKernelsPass : Pass<"heddle-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "checks contract K: only launches, copies and buffer views";
}

#endif // HEDDLE_TRANSFORMS_PASSES_TD
