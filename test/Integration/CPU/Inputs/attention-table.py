"""Writes tables of attention functions as MLIR: attention-table.py masks|shapes|operands|downstream|hard

One function per row, the name says what is in it. Inputs come from comments, as
check.py reads them.
"""

import sys


def attention(name, batch=1, sq=40, sk=None, heads=2, key_heads=None, d=8, dv=None,
              dtype="f32", mask=None, layout=None, scale=None, lse=False,
              operands=(), precision=None, score=None, inputs=(), after=None):
    """operands: (keyword, type, spec of its values or None); after: lines that
    follow on %o and %l, with the names and types of what is returned then."""
    sk, key_heads, dv = sk or sq, key_heads or heads, dv or d

    def tensor(s, h, width):
        axes = (batch, h, s, width) if layout == "bhsd" else (batch, s, h, width)
        return "tensor<%dx%dx%dx%dx%s>" % (*axes, dtype)

    types = [tensor(sq, heads, d), tensor(sk, key_heads, d), tensor(sk, key_heads, dv)]
    results = [tensor(sq, heads, dv)] + ([f"tensor<{batch}x{heads}x{sq}xf32>"] if lse else [])
    for number, spec in inputs:
        print(f"// INPUT {number}: {spec}")
    clauses = ""
    for number, (keyword, type_, spec) in enumerate(operands, 3):
        types.append(type_)
        clauses += f" {keyword}(%{number} : {type_})"
        if spec:
            print(f"// INPUT {number}: {spec}")
    if layout:
        clauses += f" layout = {layout}"
    if precision:
        clauses += f" precision = {precision}"
    if score:
        clauses += (" score {\n  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):\n"
                    f"{score}    heddle.yield %y : f32\n  }}")
    attributes = []
    if mask:
        attributes.append(f"mask = #heddle.mask<{mask}>")
    if scale is not None:
        attributes.append(f"scale = {float(scale)!r}")
    if attributes:
        clauses += " {" + ", ".join(attributes) + "}"
    arguments = ", ".join(f"%{i}: {t}" for i, t in enumerate(types))
    outs = "%o, %l" if lse else "%o"
    lines, returned, returned_types = after or ("", outs, results)
    print(f"func.func @{name}({arguments}) -> ({', '.join(returned_types)}) {{")
    print(f"  {outs} = heddle.attention %0, %1, %2{clauses}")
    print(f"    : {', '.join(types[:3])} -> {', '.join(results)}")
    print(f"{lines}  return {returned} : {', '.join(returned_types)}\n}}\n")


def masks():
    # Lengths around the tile sizes; the reference device knows a mask as a set.
    kinds = {
        "causal_upper_left": "causal_upper_left",
        "causal_lower_right": "causal_lower_right",
        "window": "window<37, 5>",
        "window_future": "window<-3, 20>",
        "window_crossed": "union<window<-4, 2>, prefix<3>>",
        "prefix": "prefix<17>",
        "prefix_beyond": "prefix<100000>",
        "block_diagonal_96": "block_diagonal<96>",
        "block_diagonal_7": "block_diagonal<7>",
        "block_diagonal_1": "block_diagonal<1>",
        "affine_band": "affine_set<\"(i, j) : (i - j + 9 >= 0, 2 * j - i + 40 >= 0)\">",
        "affine_stride": "affine_set<\"(i, j) : ((i + 2 * j) mod 3 == 0)\">",
        "affine_floordiv": "affine_set<\"(i, j) : (i floordiv 33 - j floordiv 29 >= 0)\">",
        "union_prefix_window": "union<prefix<5>, window<30, 0>>",
        "union_holes": "union<window<9, 9>, affine_set<\"(i, j) : (j - i - 90 >= 0, 120 - j + i >= 0)\">, prefix<2>>",
        "local_causal": "intersection<causal_upper_left, window<64, 64>>",
        "documents_causal": "intersection<causal_upper_left, block_diagonal<50>>",
        "nested": "intersection<union<block_diagonal<40>, prefix<8>>, union<causal_lower_right, window<0, 12>>>",
    }
    for name, mask in kinds.items():
        for sq, sk in ((300, 300), (150, 333), (333, 150)):
            attention(f"{name}_{sq}_{sk}", sq=sq, sk=sk, heads=1, d=4, mask=mask, lse=True)
    attention("causal_257", sq=257, heads=1, d=4, mask="causal", lse=True)


def shapes():
    for d in (1, 3, 8, 40, 63, 64, 72, 80, 96, 100, 128, 192, 256):
        for dtype in ("f32", "bf16", "f16"):
            attention(f"head_dim_{d}_{dtype}", sq=33, sk=47, heads=1, d=d, dtype=dtype,
                      mask="causal_lower_right")
    for dtype in ("f32", "bf16"):
        attention(f"head_dim_192_128_{dtype}", sq=65, heads=2, d=192, dv=128, dtype=dtype, lse=True)
    for s in (1, 2, 17, 127, 128, 129, 1025):
        for dtype in ("f32", "bf16", "f16"):
            for mask in (None, "causal"):
                attention(f"length_{s}_{mask or 'full'}_{dtype}", sq=s, heads=1, d=16, dtype=dtype,
                          mask=mask, lse=dtype == "f32")
    for sq, sk in ((1, 1025), (1025, 1), (31, 257), (193, 289), (1031, 521)):
        attention(f"lengths_{sq}_{sk}", sq=sq, sk=sk, heads=1, d=8, lse=True)
    for layout in ("bshd", "bhsd"):
        for key_heads in (1, 2, 3, 6):
            attention(f"heads_6_over_{key_heads}_{layout}", batch=2, sq=37, heads=6,
                      key_heads=key_heads, d=8, layout=layout, mask="causal", lse=True)
    attention("tiny_1111", sq=1, heads=1, d=1, lse=True)
    attention("tiny_2344", batch=2, sq=3, heads=4, d=4, lse=True)
    attention("more_than_65535_heads", batch=10923, sq=2, heads=6, d=1, mask="causal")
    for d in (1, 40, 64, 72, 128, 192, 256):
        attention(f"head_dim_{d}_tf32", sq=33, sk=47, heads=1, d=d, mask="causal_lower_right", precision="tf32")
    for s in (1, 129, 300):
        attention(f"length_{s}_tf32", sq=s, heads=2, d=32, precision="tf32", lse=True)
    attention("heads_4_over_2_tf32", batch=2, sq=70, heads=4, key_heads=2, d=16, dv=24, layout="bhsd",
              mask="window<30, 4>", precision="tf32")
    for precision in ("ieee", "tf32"):
        attention(f"nan_behind_key_lengths_{precision}", batch=2, sq=70, sk=90, heads=1, d=16, precision=precision,
                  inputs=[(1, "normal(1).put(None, range(40, 90), nan)"),
                          (2, "normal(2).put(None, range(40, 90), nan)")],
                  operands=[("key_lengths", "tensor<2xi32>", "[40, 33]")])
        attention(f"nan_and_inf_in_a_visible_value_{precision}", sq=70, heads=1, d=16, mask="causal",
                  precision=precision, inputs=[(2, "normal(2).put(0, 66, 0, 3, nan).put(0, 67, 0, 5, -inf)")])
    attention("scale_zero", sq=40, scale=0)
    attention("scale_negative", sq=40, scale=-0.5, lse=True)
    attention("scale_large", sq=40, scale=1e4, inputs=[(0, "integers(-2, 3, 1)"), (1, "integers(-2, 3, 2)")])


def operands():
    b, h, s = 2, 4, 140
    for dtype in ("f32", "bf16", "f16"):
        for number in range(16):
            shape = [x if number >> bit & 1 else 1 for bit, x in enumerate((b, h, s, s))]
            if dtype != "f32" and number not in (0, 6, 15):
                continue
            type_ = "tensor<%dx%dx%dx%dx%s>" % (*shape, dtype)
            attention(f"bias_{'_'.join(map(str, shape))}_{dtype}", batch=b, heads=h, sq=s, d=4,
                      operands=[("bias", type_, None)], mask="window<90, 90>" if number % 3 == 0 else None)
    for number in range(16):
        shape = [x if number >> bit & 1 else 1 for bit, x in enumerate((b, h, s, s))]
        # Row 3 of the last batch entry and head sees nothing where it can.
        spec = "integers(0, 2, 5)" + (".put(%d, %d, 3, None, 0)" % (shape[0] - 1, shape[1] - 1) if shape[2] > 3 else "")
        attention(f"mask_tensor_{'_'.join(map(str, shape))}", batch=b, heads=h, sq=s, d=4, lse=True,
                  operands=[("mask_tensor", "tensor<%dx%dx%dx%dxi1>" % tuple(shape), spec)])
    # A slice of -inf inside every row: wider than a vector, than a tile.
    attention("bias_with_infinite_slices", batch=1, heads=1, sq=40, sk=600, d=4, lse=True,
              operands=[("bias", "tensor<1x1x40x600xf32>",
                         "normal(3).put(0, 0, range(40), range(64, 96), -inf)"
                         ".put(0, 0, range(8, 40), range(0, 300), -inf)")])
    # Visible scores far below 0 beside absent ones.
    attention("bias_far_below_zero", batch=1, heads=1, sq=9, sk=300, d=4, lse=True, scale=1,
              inputs=[(0, "integers(-2, 3, 1)"), (1, "integers(-2, 3, 2)")],
              operands=[("bias", "tensor<1x1x9x300xf32>",
                         "full(-65536.0).put(0, 0, range(9), range(256), -inf)")])
    attention("segments", batch=b, sq=150, sk=170, heads=2, d=4, lse=True, operands=[
        ("query_segments", "tensor<2x150xi32>", "integers(0, 5, 1)"),
        ("key_segments", "tensor<2x170xi32>", "integers(2, 9, 2)")])
    attention("segments_causal", batch=b, sq=260, heads=1, d=4, mask="causal", operands=[
        ("query_segments", "tensor<2x260xi32>", "Tensor(shape, [i // 33 for i in range(520)])"),
        ("key_segments", "tensor<2x260xi32>", "Tensor(shape, [i // 33 for i in range(520)])")])
    attention("key_lengths", batch=6, sq=30, sk=300, heads=2, d=4, lse=True, operands=[
        ("key_lengths", "tensor<6xi32>", "[0, 1, 255, 256, 300, 2000]")])
    attention("key_lengths_negative", batch=2, sq=3, sk=30, heads=2, d=4, operands=[
        ("key_lengths", "tensor<2xi32>", "[-5, 30]")])
    attention("key_lengths_causal", batch=3, sq=200, heads=2, d=4, mask="causal", operands=[
        ("key_lengths", "tensor<3xi32>", "[7, 199, 200]")])
    for dtype in ("f32", "bf16"):
        attention(f"sinks_{dtype}", batch=2, sq=130, heads=4, key_heads=2, d=8, dtype=dtype, lse=True,
                  mask="causal", operands=[("sinks", "tensor<4xf32>", "[0.5, -inf, 8.0, -3.0]")])
    everything = [("bias", "tensor<1x4x1x140xf32>", None),
                  ("query_segments", "tensor<2x140xi32>", "integers(0, 3, 1)"),
                  ("key_segments", "tensor<2x140xi32>", "integers(0, 3, 2)"),
                  ("key_lengths", "tensor<2xi32>", "[90, 133]"),
                  ("mask_tensor", "tensor<2x1x140x140xi1>", "integers(0, 2, 4)"),
                  ("sinks", "tensor<4xf32>", None)]
    for layout in ("bshd", "bhsd"):
        attention(f"everything_{layout}", batch=2, sq=140, heads=4, key_heads=2, d=8, dv=5, layout=layout,
                  mask="union<causal, window<3, 20>>", operands=everything, lse=True)
    softcap = ("    %cap = arith.constant 5.0 : f32\n    %x = arith.divf %s, %cap : f32\n"
               "    %t = math.tanh %x : f32\n    %y = arith.mulf %t, %cap : f32\n")
    alibi = ("    %ii = arith.index_cast %i : index to i32\n    %jj = arith.index_cast %j : index to i32\n"
             "    %dd = arith.subi %jj, %ii : i32\n    %df = arith.sitofp %dd : i32 to f32\n"
             "    %hi = arith.index_cast %h : index to i32\n    %hf = arith.sitofp %hi : i32 to f32\n"
             "    %one = arith.constant 1.0 : f32\n    %h1 = arith.addf %hf, %one : f32\n"
             "    %e = arith.negf %h1 : f32\n    %slope = math.exp2 %e : f32\n"
             "    %p = arith.mulf %slope, %df : f32\n    %y = arith.addf %s, %p : f32\n")
    banded = ("    %d = arith.subi %i, %j : index\n    %w = arith.constant 70 : index\n"
              "    %c = arith.cmpi slt, %d, %w : index\n    %n = arith.constant 0xFF800000 : f32\n"
              "    %y = arith.select %c, %s, %n : f32\n")
    for name, score in (("softcap", softcap), ("alibi", alibi), ("banded", banded)):
        for mask in (None, "causal"):
            for dtype in ("f32", "bf16"):
                attention(f"score_{name}_{mask or 'full'}_{dtype}", batch=2, sq=150, heads=3, d=8,
                          dtype=dtype, mask=mask, score=score, lse=True)
    attention("score_of_equal_positions_and_bias", sq=50, score=softcap, lse=True,
              operands=[("bias", "tensor<1x2x50x50xf32>", None)])
    # What stands behind a mask stays there: absent rows of key and value hold
    # NaN, infinity and 1e10.
    garbage = [(1, "normal(1).put(0, range(20, 40), nan).put(0, 25, 1e10).put(0, 26, inf)"),
               (2, "normal(2).put(0, range(20, 40), nan).put(0, 27, 1e10).put(0, 28, -inf)")]
    attention("garbage_behind_prefix", sq=9, sk=300, mask="intersection<prefix<290>, affine_set<\"(i, j) : (19 - j >= 0)\">>",
              inputs=garbage, lse=True)
    attention("garbage_behind_key_lengths", sq=9, sk=300, inputs=garbage, lse=True,
              operands=[("key_lengths", "tensor<1xi32>", "[20]")])
    for dtype in ("f32", "bf16"):
        attention(f"garbage_behind_mask_tensor_{dtype}", sq=9, sk=300, dtype=dtype, inputs=garbage,
                  operands=[("mask_tensor", "tensor<1x1x1x300xi1>",
                             "full(True).put(0, 0, 0, range(20, 40), False)")])
        for name, value in (("bias", "-inf"), ("lowest_bias", "-3.4028234663852886e38")):
            attention(f"garbage_behind_{name}_{dtype}", sq=9, sk=300, dtype=dtype, inputs=garbage,
                      operands=[("bias", "tensor<1x1x1x300xf32>",
                                 f"normal(4).put(0, 0, 0, range(20, 40), {value})")])
    attention("garbage_behind_segments", sq=9, sk=300, inputs=garbage, operands=[
        ("query_segments", "tensor<1x9xi32>", "full(1)"),
        ("key_segments", "tensor<1x300xi32>", "full(1).put(0, range(20, 40), 2)")])
    attention("garbage_in_the_future", sq=100, mask="causal", lse=True, inputs=[
        (1, "normal(1).put(0, range(60, 100), nan)"), (2, "normal(2).put(0, range(60, 100), inf)")])
    # A NaN in a query reaches its own row, and no other.
    attention("nan_in_a_query", sq=40, inputs=[(0, "normal(0).put(0, 7, 0, 3, nan)")], lse=True)
    attention("nan_in_a_query_causal", sq=40, mask="causal",
              inputs=[(0, "normal(0).put(0, 7, 0, 3, nan)")])
    attention("nan_in_a_visible_key", sq=40, mask="causal",
              inputs=[(1, "normal(1).put(0, 17, 0, 3, nan)")])


def downstream():
    """Rows without a visible key feed other ops: an output of 0 and an lse of
    -inf, where exp is 0, and no NaN in a sum over all rows."""
    for way, mask, operands in (
            ("mask", "affine_set<\"(i, j) : (i - 20 >= 0)\">", []),
            ("lower_right", "causal_lower_right", []),
            ("mask_tensor", None, [("mask_tensor", "tensor<1x1x130x100xi1>", "integers(0, 2, 3).put(0, 0, range(0, 20), False)")]),
            ("key_lengths", None, [("key_lengths", "tensor<2xi32>", "[0, 77]")]),
            ("segments", None, [("query_segments", "tensor<2x130xi32>", "integers(0, 3, 1)"),
                                ("key_segments", "tensor<2x100xi32>", "integers(1, 3, 2)")]),
            ("infinite_bias", None, [("bias", "tensor<1x1x130x1xf32>", "normal(3).put(0, 0, range(0, 20), 0, -inf)")]),
            ("lowest_bias", None, [("bias", "tensor<1x1x130x1xf32>", "normal(3).put(0, 0, range(0, 20), 0, -3.4028234663852886e38)")])):
        for dtype in ("f32", "bf16", "f16"):
            out, lse, sums = f"tensor<2x130x3x8x{dtype}>", "tensor<2x3x130xf32>", "tensor<2x3x8xf32>"
            widen, x = ("", "%a") if dtype == "f32" else (f"    %x = arith.extf %a : {dtype} to f32\n", "%x")
            lines = f"""  %e = math.exp %l : {lse}
  %z = arith.constant dense<0.0> : {sums}
  %w = arith.constant dense<0.0> : tensor<2x3xf32>
  %n = linalg.reduce {{ arith.addf }} ins(%e : {lse}) outs(%w : tensor<2x3xf32>) dimensions = [2]
  %s = linalg.generic {{indexing_maps = [affine_map<(b, h, d, i) -> (b, i, h, d)>, affine_map<(b, h, d, i) -> (b, h, i)>, affine_map<(b, h, d, i) -> (b, h, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}} ins(%o, %e : {out}, {lse}) outs(%z : {sums}) {{
  ^bb0(%a: {dtype}, %p: f32, %c: f32):
{widen}    %m = arith.mulf {x}, %p : f32
    %y = arith.addf %c, %m : f32
    linalg.yield %y : f32
  }} -> {sums}
"""
            inputs = [(i, f"normal({i}, 0.5)") for i in range(3)]
            print("// EXPECT 0: finite\n// EXPECT 1: finite\n// EXPECT 2: finite")
            attention(f"after_masked_rows_by_{way}_{dtype}", batch=2, sq=130, sk=100, heads=3, d=8, dtype=dtype,
                      mask=mask, operands=operands, lse=True, inputs=inputs,
                      after=(lines, "%o, %s, %n", [out, sums, "tensor<2x3xf32>"]))


def hard():
    """What goes wrong easily, in the three forms that a matrix unit takes: numbers
    that follow by hand, far scales, and NaN, infinity and 1e10 behind every kind of
    mask. Tiles have 64 keys or fewer: 0-19 are seen in a mixed one."""
    for kind in ("bf16", "f16", "tf32"):
        dtype, precision = ("f32", "tf32") if kind == "tf32" else (kind, None)
        big = "6e4" if kind == "f16" else "1e10"  # finite

        def case(name, **how):
            attention(f"{name}_{kind}", **{"heads": 1, "d": 16, "dtype": dtype, "precision": precision, **how})

        # Weights are rounded to tf32 for the product and not for their sum: 2^-11. In 16
        # bits the result is rounded more coarsely than that.
        near = " +- 5e-4" if kind == "tf32" else ""

        # Equal weights of exact values: prefix means, 0 where no key is visible.
        print("// EXPECT 0: [[0] * 8] * 2 + [[1] * 8, [1.5] * 8, [2] * 8]")
        print("// EXPECT 1: [-inf, -inf, 0, 0.69314718056, 1.09861228867]")
        case("means_of_visible_keys", sq=5, sk=3, d=8, scale=0, mask="causal_lower_right", lse=True,
             inputs=[(2, "[[1] * 8, [2] * 8, [3] * 8]")])
        # Logits that all are -240 in f32, far below each masked one: weights 1/4.
        print(f"// EXPECT 0: [[2.5] * 8] * 3{near}\n// EXPECT 1: [-238.61370563888] * 3 +- 3e-7")
        case("logits_far_below_zero", sq=3, sk=300, d=8, scale=1, lse=True,
             mask="affine_set<\"(i, j) : (j - 200 >= 0, 203 - j >= 0)\">",
             inputs=[(0, "full(-5.0)"), (1, "full(6.0)"),
                     (2, "full(9.0).put(0, 200, 1.0).put(0, 201, 2.0).put(0, 202, 3.0).put(0, 203, 4.0)")])
        # The largest logit takes all.
        print(f"// EXPECT 0: [[3] * 8, [1] * 8]{near}\n// EXPECT 1: [240000, -80000]")
        case("scale_picks_the_largest_logit", sq=2, sk=3, d=8, scale=1e4, lse=True,
             inputs=[(0, "[[1] * 8, [-1] * 8]"), (1, "[[1] * 8, [2] * 8, [3] * 8]"),
                     (2, "[[1] * 8, [2] * 8, [3] * 8]")])
        print(f"// EXPECT 0: [[1] * 8, [3] * 8]{near}\n// EXPECT 1: [-80000, 240000]")
        case("negative_scale_picks_the_smallest", sq=2, sk=3, d=8, scale=-1e4, lse=True,
             inputs=[(0, "[[1] * 8, [-1] * 8]"), (1, "[[1] * 8, [2] * 8, [3] * 8]"),
                     (2, "[[1] * 8, [2] * 8, [3] * 8]")])
        case("scale_zero", sq=70, scale=0, mask="causal", lse=True)
        case("scale_negative", sq=70, scale=-0.5, mask="causal", lse=True)
        # A NaN reaches the rows that see it, and no other.
        case("nan_in_a_query", sq=70, lse=True, inputs=[(0, "normal(0).put(0, 7, 0, 3, nan)")])
        case("nan_in_a_visible_key", sq=70, mask="causal", lse=True,
             inputs=[(1, "normal(1).put(0, 17, 0, 3, nan)")])
        case("nan_in_a_visible_value", sq=70, mask="causal",
             inputs=[(2, "normal(2).put(0, 66, 0, 3, nan).put(0, 67, 0, 5, -inf)")])
        garbage = [(1, f"normal(1).put(0, range(20, 70), nan).put(0, 25, {big}).put(0, 26, inf)"),
                   (2, f"normal(2).put(0, range(20, 70), nan).put(0, 27, {big}).put(0, 28, -inf)")]
        for name, mask, sq, operands in (
                ("prefix", "prefix<20>", 70, []),
                ("key_lengths", None, 9, [("key_lengths", "tensor<1xi32>", "[20]")]),
                ("mask_tensor", None, 9, [("mask_tensor", "tensor<1x1x1x150xi1>",
                                           "full(True).put(0, 0, 0, range(20, 70), False)")]),
                ("segments", None, 9, [("query_segments", "tensor<1x9xi32>", "full(1)"),
                                       ("key_segments", "tensor<1x150xi32>", "full(1).put(0, range(20, 70), 2)")]),
                ("bias", None, 9, [("bias", "tensor<1x1x1x150xf32>",
                                    "normal(4).put(0, 0, 0, range(20, 70), -inf)")]),
                ("lowest_bias", None, 9, [("bias", "tensor<1x1x1x150xf32>",
                                           "normal(4).put(0, 0, 0, range(20, 70), -3.4028234663852886e38)")])):
            print("// EXPECT 0: finite\n// EXPECT 1: finite")
            inputs = garbage
            if name in ("prefix", "key_lengths"):  # to the end
                inputs = [(i, spec.replace("range(20, 70)", "range(20, 150)")) for i, spec in garbage]
            case(f"garbage_behind_{name}", sq=sq, sk=150, mask=mask, lse=True, inputs=inputs, operands=operands)
        case("garbage_in_the_future", sq=100, mask="causal", lse=True, inputs=[
            (1, "normal(1).put(0, range(60, 100), nan)"), (2, "normal(2).put(0, range(60, 100), inf)")])
        case("bias_with_infinite_slices", sq=20, sk=300, lse=True, operands=[
            ("bias", "tensor<1x1x20x300xf32>", "normal(3).put(0, 0, range(20), range(64, 96), -inf)"
                                               ".put(0, 0, range(8, 20), range(0, 150), -inf)")])
        # The largest weight is 1 to 2^-12, so that it is rounded to 1.
        case("bias_far_below_zero", sq=70, sk=150, lse=True, scale=1,
             inputs=[(0, "integers(-2, 3, 1)"), (1, "integers(-2, 3, 2)")],
             operands=[("bias", "tensor<1x1x70x150xf32>",
                        "full(-2048.0).put(0, 0, range(70), range(120), -inf)")])


{"masks": masks, "shapes": shapes, "operands": operands, "downstream": downstream, "hard": hard}[sys.argv[1]]()
