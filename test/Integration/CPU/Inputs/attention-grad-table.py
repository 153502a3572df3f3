"""Writes tables of attention with its gradients as MLIR:
attention-grad-table.py masks|shapes|operands|garbage

One function per row, the name says what is in it. Arguments are query, key,
value, the cotangent of out and then the operands; results are the gradients.
Inputs come from comments, as check.py reads them.
"""

import sys


def gradients(name, batch=1, sq=40, sk=None, heads=2, key_heads=None, d=8, dv=None,
              dtype="f32", mask=None, layout=None, scale=None, d_lse=False,
              operands=(), score=None, inputs=(), wanted=None, notes=(), cotangent=None):
    """operands: (keyword, type, spec of its values or None); score: lines that
    set %y, and lines that set its derivative %z; cotangent: type of argument 3
    and lines that set %g from it."""
    sk, key_heads, dv = sk or sq, key_heads or heads, dv or d

    def tensor(s, h, width):
        axes = (batch, h, s, width) if layout == "bhsd" else (batch, s, h, width)
        return "tensor<%dx%dx%dx%dx%s>" % (*axes, dtype)

    query, key, value = tensor(sq, heads, d), tensor(sk, key_heads, d), tensor(sk, key_heads, dv)
    out, lse = tensor(sq, heads, dv), f"tensor<{batch}x{heads}x{sq}xf32>"
    arguments = [("q", query), ("k", key), ("v", value),
                 ("g", out) if not cotangent else ("raw", cotangent[0])]
    results = {"d_query": query, "d_key": key, "d_value": value}
    clauses = ""
    for keyword, type_, spec in operands:
        if spec:
            print(f"// INPUT {len(arguments)}: {spec}")
        clauses += f" {keyword}(%{keyword} : {type_})"
        arguments.append((keyword, type_))
        if keyword in ("bias", "sinks"):
            results["d_" + keyword] = type_
    if d_lse:
        arguments.append(("d_lse", lse))
    for number, spec in inputs:
        print(f"// INPUT {number}: {spec}")
    for note in notes:
        print("// " + note)
    if layout:
        clauses += f" layout = {layout}"
    head = "\n    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):\n"
    forward = backward = ""
    if score:
        forward = " score {" + head + score[0] + "    heddle.yield %y : f32\n  }"
        backward = " score {" + head + score[0] + score[1] + "    heddle.yield %y, %z : f32, f32\n  }"
    attributes = []
    if mask:
        attributes.append(f"mask = #heddle.mask<{mask}>")
    if scale is not None:
        attributes.append(f"scale = {float(scale)!r}")
    end = " {" + ", ".join(attributes) + "}" if attributes else ""
    grad_clauses = f"out(%o : {out})" + (f" d_lse(%d_lse : {lse})" if d_lse else "") + clauses
    results = {key: type_ for key, type_ in results.items() if not wanted or key in wanted}
    signature = ", ".join(f"%{n}: {t}" for n, t in arguments)
    print(f"func.func @{name}({signature}) -> ({', '.join(results.values())}) {{")
    print(cotangent[1] if cotangent else "", end="")
    print(f"  %o, %l = heddle.attention %q, %k, %v{clauses}{forward}{end}")
    print(f"    : {query}, {key}, {value} -> {out}, {lse}")
    names = ", ".join("%" + key for key in results)
    print(f"  {names} = heddle.attention_grad %q, %k, %v, %l, %g {grad_clauses}{backward}{end}")
    print(f"    : {query}, {key}, {value}, {lse}, {out} -> " + " ".join(f"{k} {t}" for k, t in results.items()))
    print(f"  return {names} : {', '.join(results.values())}\n}}\n")


def masks():
    # Lengths around the tile sizes; the reference device knows a mask as a set.
    kinds = {
        "causal_upper_left": "causal_upper_left",
        "causal_lower_right": "causal_lower_right",
        "window": "window<37, 5>",
        "window_future": "window<-3, 20>",
        "prefix": "prefix<17>",
        "prefix_beyond": "prefix<100000>",
        "block_diagonal_96": "block_diagonal<96>",
        "block_diagonal_7": "block_diagonal<7>",
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
            gradients(f"{name}_{sq}_{sk}", sq=sq, sk=sk, heads=1, d=4, mask=mask)
    gradients("causal_257", sq=257, heads=1, d=4, mask="causal")


def shapes():
    for d in (1, 3, 8, 40, 63, 64, 72, 80, 96, 100, 128, 192, 256):
        gradients(f"head_dim_{d}_f32", sq=33, sk=47, heads=1, d=d, mask="causal_lower_right")
    for d in (8, 40, 96, 256):
        for dtype in ("bf16", "f16"):
            gradients(f"head_dim_{d}_{dtype}", sq=33, sk=47, heads=1, d=d, dtype=dtype)
    for dtype in ("f32", "bf16"):
        gradients(f"head_dim_192_128_{dtype}", sq=65, heads=2, d=192, dv=128, dtype=dtype)
        gradients(f"head_dim_8_24_{dtype}", sq=65, heads=2, d=8, dv=24, dtype=dtype)
    for s in (1, 2, 17, 64, 127, 128, 129, 192, 704):
        for dtype in ("f32", "bf16", "f16"):
            for mask in (None, "causal"):
                if dtype == "f16" and (mask or s not in (17, 129)):
                    continue
                if s == 704 and (dtype == "bf16" or mask):
                    continue
                # One key makes the gradients of scores zero.
                wanted = ("d_value",) if s == 1 else None
                # Of few elements the errors of two roundings compare by chance.
                few = dtype != "f32" and s < 64
                gradients(f"length_{s}_{mask or 'full'}_{dtype}", batch=8 if few else 1, sq=s,
                          heads=16 if few else 1, d=16, dtype=dtype, mask=mask, wanted=wanted)
    for sq, sk in ((1, 333), (333, 2), (31, 257), (193, 289)):
        gradients(f"lengths_{sq}_{sk}", sq=sq, sk=sk, heads=1, d=8)
    for layout in ("bshd", "bhsd"):
        for key_heads in (1, 2, 3, 6):
            gradients(f"heads_6_over_{key_heads}_{layout}", batch=2, sq=37, heads=6,
                      key_heads=key_heads, d=8, layout=layout, mask="causal")
    gradients("tiny_1111", sq=1, heads=1, d=1, wanted=("d_value",))
    gradients("tiny_2344", batch=2, sq=3, heads=4, d=4)
    gradients("more_than_65535_heads", batch=10923, sq=2, heads=6, d=1, mask="causal")
    gradients("scale_negative", sq=40, scale=-0.5)
    gradients("scale_large", sq=40, scale=2.0)
    for wanted in (("d_query",), ("d_key",), ("d_value",), ("d_query", "d_value"), ("d_key", "d_value")):
        gradients("only_" + "_".join(wanted), sq=70, mask="causal", wanted=wanted)


def operands():
    b, h, s = 2, 4, 140
    gradients("d_lse", batch=b, heads=h, key_heads=2, sq=s, d=4, d_lse=True, mask="causal")
    for number in range(16):
        shape = [x if number >> bit & 1 else 1 for bit, x in enumerate((b, h, s, s))]
        for dtype in ("f32", "bf16") if number in (0, 6, 15) else ("f32",):
            type_ = "tensor<%dx%dx%dx%dx%s>" % (*shape, dtype)
            # A bias that all keys share moves no probability.
            wanted = None if shape[3] > 1 else ("d_query", "d_key", "d_value")
            gradients(f"bias_{'_'.join(map(str, shape))}_{dtype}", batch=b, heads=h, sq=s, d=4,
                      dtype=dtype, wanted=wanted, d_lse=False,
                      operands=[("bias", type_, None)], mask="window<90, 90>" if number % 3 == 0 else None)
            if wanted:
                gradients(f"bias_{'_'.join(map(str, shape))}_{dtype}_with_d_lse", batch=b, heads=h, sq=s,
                          d=4, dtype=dtype, wanted=("d_bias", "d_key"), d_lse=True,
                          operands=[("bias", type_, None)])
        spec = "integers(0, 2, 5)" + (".put(%d, %d, 3, None, 0)" % (shape[0] - 1, shape[1] - 1) if shape[2] > 3 else "")
        gradients(f"mask_tensor_{'_'.join(map(str, shape))}", batch=b, heads=h, sq=s, d=4,
                  operands=[("mask_tensor", "tensor<%dx%dx%dx%dxi1>" % tuple(shape),
                             spec if number else "full(True)")])
    gradients("bias_with_infinite_slices", sq=40, sk=600, heads=1, d=4, operands=[
        ("bias", "tensor<1x1x40x600xf32>",
         "normal(3).put(0, 0, range(40), range(64, 96), -inf)"
         ".put(0, 0, range(8, 40), range(0, 300), -inf).put(0, 0, 39, None, -inf)")])
    gradients("bias_group_of_heads", batch=2, sq=50, heads=6, key_heads=2, operands=[
        ("bias", "tensor<1x6x50x50xf32>", None)], mask="causal")
    gradients("segments", batch=b, sq=150, sk=170, heads=2, d=4, operands=[
        ("query_segments", "tensor<2x150xi32>", "integers(0, 5, 1)"),
        ("key_segments", "tensor<2x170xi32>", "integers(2, 9, 2)")])
    gradients("segments_causal", batch=b, sq=260, heads=1, d=4, mask="causal", operands=[
        ("query_segments", "tensor<2x260xi32>", "Tensor(shape, [i // 33 for i in range(520)])"),
        ("key_segments", "tensor<2x260xi32>", "Tensor(shape, [i // 33 for i in range(520)])")])
    gradients("key_lengths", batch=6, sq=30, sk=300, heads=2, d=4, operands=[
        ("key_lengths", "tensor<6xi32>", "[0, 1, 255, 256, 300, 2000]")])
    gradients("key_lengths_causal", batch=3, sq=200, heads=2, d=4, mask="causal", operands=[
        ("key_lengths", "tensor<3xi32>", "[7, 199, 200]")])
    for dtype in ("f32", "bf16"):
        gradients(f"sinks_{dtype}", batch=2, sq=130, heads=4, key_heads=2, d=8, dtype=dtype, d_lse=True,
                  mask="causal", operands=[("sinks", "tensor<4xf32>", "[0.5, -inf, 8.0, -3.0]")])
    gradients("sinks_of_rows_without_keys", batch=2, sq=9, sk=5, heads=2, d=8, d_lse=True,
              mask="causal_lower_right", operands=[("sinks", "tensor<2xf32>", "[0.5, -2.0]")])
    everything = [("bias", "tensor<1x4x1x140xf32>", None),
                  ("query_segments", "tensor<2x140xi32>", "integers(0, 3, 1)"),
                  ("key_segments", "tensor<2x140xi32>", "integers(0, 3, 2)"),
                  ("key_lengths", "tensor<2xi32>", "[90, 133]"),
                  ("mask_tensor", "tensor<2x1x140x140xi1>", "integers(0, 2, 4)"),
                  ("sinks", "tensor<4xf32>", None)]
    for layout in ("bshd", "bhsd"):
        gradients(f"everything_{layout}", batch=2, sq=140, heads=4, key_heads=2, d=8, dv=5, layout=layout,
                  mask="union<causal, window<3, 20>>", operands=everything, d_lse=True)
    softcap = ("    %cap = arith.constant 5.0 : f32\n    %x = arith.divf %s, %cap : f32\n"
               "    %t = math.tanh %x : f32\n    %y = arith.mulf %t, %cap : f32\n",
               "    %one = arith.constant 1.0 : f32\n    %tt = arith.mulf %t, %t : f32\n"
               "    %z = arith.subf %one, %tt : f32\n")
    alibi = ("    %ii = arith.index_cast %i : index to i32\n    %jj = arith.index_cast %j : index to i32\n"
             "    %dd = arith.subi %jj, %ii : i32\n    %df = arith.sitofp %dd : i32 to f32\n"
             "    %hi = arith.index_cast %h : index to i32\n    %hf = arith.sitofp %hi : i32 to f32\n"
             "    %z = arith.constant 1.0 : f32\n    %h1 = arith.addf %hf, %z : f32\n"
             "    %e = arith.negf %h1 : f32\n    %slope = math.exp2 %e : f32\n"
             "    %p = arith.mulf %slope, %df : f32\n    %y = arith.addf %s, %p : f32\n", "")
    banded = ("    %d = arith.subi %i, %j : index\n    %w = arith.constant 70 : index\n"
              "    %c = arith.cmpi slt, %d, %w : index\n    %n = arith.constant 0xFF800000 : f32\n"
              "    %y = arith.select %c, %s, %n : f32\n",
              "    %one = arith.constant 1.0 : f32\n    %zero = arith.constant 0.0 : f32\n"
              "    %z = arith.select %c, %one, %zero : f32\n")
    reciprocal = ("    %ii = arith.index_cast %i : index to i32\n    %f = arith.sitofp %ii : i32 to f32\n"
                  "    %last = arith.constant 150.0 : f32\n    %left = arith.subf %last, %f : f32\n"
                  "    %y = arith.divf %s, %left : f32\n",
                  "    %one = arith.constant 1.0 : f32\n    %z = arith.divf %one, %left : f32\n")
    for name, score in (("softcap", softcap), ("alibi", alibi), ("banded", banded),
                        ("infinite_behind_the_last_query", reciprocal)):
        for mask in (None, "causal"):
            for dtype in ("f32", "bf16"):
                gradients(f"score_{name}_{mask or 'full'}_{dtype}", batch=2, sq=150, heads=3, d=8,
                          dtype=dtype, mask=mask, score=score)
    gradients("score_softcap_and_bias", sq=50, score=softcap,
              operands=[("bias", "tensor<1x2x50x50xf32>", None)])
    # Cotangents as a graph hands them over: one number for all, or transposed.
    gradients("repeated_cotangent", batch=2, sq=37, d=8, dv=5, cotangent=("tensor<2x1x2x5xf32>", """\
  %e = tensor.empty() : tensor<2x37x2x5xf32>
  %c = tensor.collapse_shape %raw [[0, 1], [2], [3]] : tensor<2x1x2x5xf32> into tensor<2x2x5xf32>
  %g = linalg.broadcast ins(%c : tensor<2x2x5xf32>) outs(%e : tensor<2x37x2x5xf32>) dimensions = [1]
"""))
    gradients("transposed_cotangent", batch=2, sq=37, d=8, dv=5, cotangent=("tensor<2x2x5x37xf32>", """\
  %e = tensor.empty() : tensor<2x37x2x5xf32>
  %g = linalg.transpose ins(%raw : tensor<2x2x5x37xf32>) outs(%e : tensor<2x37x2x5xf32>) permutation = [0, 3, 1, 2]
"""))


def garbage():
    """What stands behind a mask stays there, and masked keys get exactly 0."""
    spoiled = [(1, "normal(1).put(0, range(20, 40), nan).put(0, 25, 1e10).put(0, 26, inf)"),
               (2, "normal(2).put(0, range(20, 40), nan).put(0, 27, 1e10).put(0, 28, -inf)")]
    finite = [f"EXPECT {i}: finite" for i in range(3)]
    for dtype in ("f32", "bf16"):
        gradients(f"behind_prefix_{dtype}", sq=9, sk=300, dtype=dtype, inputs=spoiled, notes=finite,
                  mask="intersection<prefix<290>, affine_set<\"(i, j) : (19 - j >= 0)\">>")
        gradients(f"behind_key_lengths_{dtype}", sq=9, sk=300, dtype=dtype, inputs=spoiled, notes=finite,
                  operands=[("key_lengths", "tensor<1xi32>", "[20]")])
        gradients(f"behind_mask_tensor_{dtype}", sq=139, sk=300, dtype=dtype, inputs=spoiled, notes=finite,
                  operands=[("mask_tensor", "tensor<1x1x1x300xi1>",
                             "full(True).put(0, 0, 0, range(20, 40), False)")])
        for name, value in (("bias", "-inf"), ("lowest_bias", "-3.4028234663852886e38")):
            gradients(f"behind_{name}_{dtype}", sq=9, sk=300, dtype=dtype, inputs=spoiled,
                      notes=finite + ["EXPECT 3: finite"],
                      operands=[("bias", "tensor<1x1x1x300xf32>",
                                 f"normal(4).put(0, 0, 0, range(20, 40), {value})")])
    gradients("behind_segments", sq=9, sk=300, inputs=spoiled, notes=finite, operands=[
        ("query_segments", "tensor<1x9xi32>", "full(1)"),
        ("key_segments", "tensor<1x300xi32>", "full(1).put(0, range(20, 40), 2)")])
    # A query whose row and cotangent are NaN spoils the keys that it sees.
    gradients("nan_in_the_last_query", sq=300, heads=1, mask="causal_upper_left", sk=310, inputs=[
        (0, "normal(0).put(0, 299, nan)"), (3, "normal(3).put(0, 299, nan)")])
    gradients("nan_in_queries_that_see_nothing", sq=300, sk=100, heads=1, mask="causal_lower_right", notes=finite,
              inputs=[(0, "normal(0).put(0, range(150), nan)"), (3, "normal(3).put(0, range(150), nan)")])
    gradients("nan_in_a_cotangent", sq=40, inputs=[(3, "normal(3).put(0, 7, 0, 3, nan)")], mask="causal")
    gradients("nan_in_a_visible_key", sq=40, mask="causal", inputs=[(1, "normal(1).put(0, 17, 0, 3, nan)")])
    # exp(0 - lse) overflows: absent keys and queries must not count as score 0.
    # The last element of each row makes scores near -96; all are exact.
    low = [(0, "Tensor(shape, [96 if i % 8 == 7 else (i * 37 % 9 - 4) / 8 for i in range(math.prod(shape))])"),
           (1, "Tensor(shape, [-1 if i % 8 == 7 else (i * 53 % 17 - 8) / 8 for i in range(math.prod(shape))])")]
    for s in (64, 192, 704):
        gradients(f"low_lse_{s}", sq=s, sk=s - 3, heads=1, d=8, scale=1, notes=finite, inputs=low)
    gradients("low_lse_causal", sq=193, heads=1, d=8, scale=1, mask="causal", notes=finite, inputs=low)


{"masks": masks, "shapes": shapes, "operands": operands, "garbage": garbage}[sys.argv[1]]()
