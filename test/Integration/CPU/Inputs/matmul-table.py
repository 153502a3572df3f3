"""Writes tables of matrix products as MLIR: matmul-table.py sizes|operands|fused|mlp|tiles|deep"""

import sys

from graph import Function

# Around the row panel (32), the column block (12, 288), the depth block (256).
SIZES = (1, 2, 3, 11, 12, 13, 31, 32, 33, 127, 128, 129)


def product(name, m, k, n, dtype="f32", weight=None):
    f = Function(name)
    a, b = f.argument((m, k), dtype), f.argument((k, n), weight or dtype)
    if weight:
        b = f.cast(b, dtype)
    c = f.contract(a, "mk", b, "kn", "mn")
    f.write(c if dtype == "f32" else f.cast(c, dtype))


def sizes():
    for s in SIZES:
        product(f"rows_{s}", s, 17, 19)
        product(f"depth_{s}", 19, s, 17)
        product(f"columns_{s}", 17, 19, s)
    product("all_one", 1, 1, 1)
    for m, k, n in ((7, 521, 13), (33, 513, 385), (2, 1024, 3), (40, 512, 384), (5, 2003, 5), (130, 600, 389),
                    (3, 4, 577), (1, 700, 1000), (1000, 3, 1)):
        product(f"blocks_{m}_{k}_{n}", m, k, n)


def operands():
    for dtype in ("f32", "bf16", "f16"):
        for a_map in ("mk", "km"):
            for b_map in ("kn", "nk"):
                for out in ("mn", "nm"):
                    f = Function(f"{a_map}_{b_map}_{out}_{dtype}")
                    size = {"m": 37, "k": 45, "n": 29}
                    a = f.argument([size[c] for c in a_map], dtype)
                    b = f.argument([size[c] for c in b_map], dtype)
                    f.write(f.contract(a, a_map, b, b_map, out))
    for name, a_map, b_map, out in (
            ("batched", "bmk", "bkn", "bmn"), ("batched_transposed", "bmk", "bnk", "bmn"),
            ("batch_in_the_middle", "mbk", "kbn", "mbn"), ("rows_of_two_axes", "bmk", "kn", "bmn"),
            ("three_batch_axes", "abcmk", "abckn", "abcmn"), ("columns_of_two_axes", "mk", "kbn", "mbn"),
            ("row_axes_apart", "bmk", "kn", "mnb"), ("depth_of_two_axes", "mkb", "kbn", "mn"),
            ("outer", "m", "n", "mn"), ("matrix_times_vector", "mk", "k", "m"),
            ("vector_times_matrix", "k", "kn", "n"), ("batched_dot", "bk", "bk", "b"),
            ("right_has_the_batch", "mk", "bkn", "bmn"), ("attention_scores", "bihd", "bjhd", "bhij")):
        size = dict(a=2, b=3, c=2, m=35, k=21, n=14, i=20, j=33, h=3, d=8)
        f = Function(name)
        a = f.argument([size[c] for c in a_map])
        b = f.argument([size[c] for c in b_map])
        f.write(f.contract(a, a_map, b, b_map, out))
    f = Function("the_same_operand_twice")
    a = f.argument((40, 40))
    f.write(f.contract(a, "mk", a, "kn", "mn"))
    f = Function("gram_matrix")
    a = f.argument((40, 70))
    f.write(f.contract(a, "mk", a, "nk", "mn"))
    f = Function("operand_is_the_residual_as_well")
    a, b = f.argument((40, 40)), f.argument((40, 40))
    c = f.contract(a, "mk", b, "kn", "mn")
    f.write(f.binary("addf", f.binary("addf", c, a), b))
    f = Function("constant_right_operand")
    f.write(f.contract(f.argument((9, 33)), "mk", f.constant((33, 5), 0.5), "kn", "mn"))
    f = Function("constant_left_operand")
    f.write(f.contract(f.constant((9, 33), 0.5), "mk", f.argument((33, 5)), "kn", "mn"))
    f = Function("accumulator_is_an_argument")
    f.write(f.contract(f.argument((9, 33)), "mk", f.argument((33, 5)), "kn", "mn", init=f.argument((9, 5))))
    f = Function("accumulator_is_a_row_of_biases")
    bias = f.generic("ab", [f.argument((50,))], ["b"], (40, 50), "ab", "    %y = arith.addf %x, %x : f32\n")
    f.write(f.contract(f.argument((40, 33)), "mk", f.argument((33, 50)), "kn", "mn", init=bias))
    for dtype in ("bf16", "f16"):
        f = Function(f"accumulates_in_f32_{dtype}")
        f.write(f.contract(f.argument((40, 300), dtype), "mk", f.argument((300, 20), dtype), "kn", "mn", dtype))
        f = Function(f"weight_of_f32_is_cast_{dtype}")
        w = f.cast(f.argument((300, 20)), dtype)
        f.write(f.cast(f.contract(f.argument((40, 300), dtype), "mk", w, "kn", "mn"), dtype))
    f = Function("integers")
    a, b = f.argument((9, 20), "i32"), f.argument((20, 7), "i32")
    f.write(f.generic("mnk", [a, b], ["mk", "kn"], (9, 7), "mn",
                      "    %p = arith.muli %x, %x1 : i32\n    %y = arith.addi %x0, %p : i32\n", "i32", "k",
                      f.filled((9, 7), 0, "i32")))
    f = Function("doubles")
    a, b = f.argument((9, 20), "f64"), f.argument((20, 7), "f64")
    f.write(f.contract(a, "mk", b, "kn", "mn", "f64"))
    f = Function("two_products_of_one_operand")
    a = f.argument((33, 20))
    f.write(f.contract(a, "mk", f.argument((20, 7)), "kn", "mn"),
            f.contract(a, "mk", f.argument((20, 9)), "kn", "mn"))
    f = Function("chain_of_products")
    c = f.argument((20, 30))
    for n in (700, 600, 5):
        c = f.contract(c, "mk", f.argument((c.shape[1], n)), "kn", "mn")
    f.write(c)


def tiles():
    """Results that give every multiprocessor of a GPU a tile of 128x128, with ragged ends."""
    m, k, n = 1030, 70, 1420
    for dtype, a_map, b_map in (("f32", "mk", "kn"), ("f32", "km", "nk"), ("bf16", "mk", "kn"), ("bf16", "mk", "nk"),
                                ("f16", "km", "kn"), ("f16", "mk", "nk")):
        f = Function(f"wide_{a_map}_{b_map}_{dtype}")
        size = {"m": m, "k": k, "n": n}
        a, b = (f.argument([size[c] for c in x], dtype) for x in (a_map, b_map))
        c = f.contract(a, a_map, b, b_map, "mn")
        f.write(c if dtype == "f32" else f.cast(c, dtype))
    for dtype in ("f32", "bf16"):
        f = Function(f"wide_batched_{dtype}")
        a, b = f.argument((6, 260, 40), dtype), f.argument((6, 40, 800), dtype)
        f.write(f.contract(a, "bmk", b, "bkn", "bmn"))
        f = Function(f"wide_linear_gelu_residual_{dtype}")
        y = f.contract(f.argument((m, k), dtype), "mk", f.argument((k, n), dtype), "kn", "mn")
        y = f.unary("gelu_tanh", f.binary("addf", y, f.argument((n,)), "b"))
        r = f.argument((m, n), dtype)
        y = f.binary("addf", y, r if dtype == "f32" else f.cast(r, "f32"))
        f.write(y if dtype == "f32" else f.cast(y, dtype))


def deep():
    """Depths of many stages, tiles of 64x64 and narrower, all ways that operands lie in memory."""
    for dtype in ("f32", "bf16"):
        for a_map in ("mk", "km"):
            for b_map in ("kn", "nk"):
                f = Function(f"deep_{a_map}_{b_map}_{dtype}")
                size = {"m": 70, "k": 333, "n": 90}
                a, b = (f.argument([size[c] for c in x], dtype) for x in (a_map, b_map))
                f.write(f.contract(a, a_map, b, b_map, "mn"))
    f = Function("wide_and_deep_f32")
    f.write(f.contract(f.argument((1030, 200)), "mk", f.argument((200, 1420)), "kn", "mn"))
    f = Function("wide_and_deep_bf16")
    f.write(f.contract(f.argument((1030, 200), "bf16"), "mk", f.argument((200, 1420), "bf16"), "kn", "mn"))


def fused():
    for rows, k, n in ((33, 48, 40), (1, 700, 13), (70, 130, 600)):
        for activation in ("none", "gelu_tanh", "gelu_erf", "silu", "relu"):
            for dtype in ("f32", "bf16"):
                f = Function(f"linear_{activation}_residual_{rows}_{k}_{n}_{dtype}")
                x, w = f.argument((rows, k), dtype), f.argument((k, n), dtype)
                y = f.contract(x, "mk", w, "kn", "mn")
                y = f.binary("addf", y, f.argument((n,)), "b")
                if activation != "none":
                    y = f.unary(activation, y)
                r = f.argument((rows, n), dtype)
                y = f.binary("addf", y, r if dtype == "f32" else f.cast(r, "f32"))
                f.write(y if dtype == "f32" else f.cast(y, dtype))
    for rows, k, n in ((33, 48, 40), (65, 521, 30), (10, 600, 400)):
        f = Function(f"layer_norm_linear_{rows}_{k}_{n}")
        x = f.layer_norm(f.argument((rows, k)), f.argument((k,)), f.argument((k,)))
        f.write(f.contract(x, "mk", f.argument((k, n)), "kn", "mn"))
        f = Function(f"layer_norm_two_linears_{rows}_{k}_{n}")
        x = f.layer_norm(f.argument((rows, k)), f.argument((k,)), f.argument((k,)))
        f.write(f.contract(x, "mk", f.argument((k, n)), "kn", "mn"), f.contract(x, "mk", f.argument((n, k)), "nk", "mn"))
    # A prologue that turns the 0 of padding into inf: depth blocks must not pad.
    for activation in ("reciprocal", "log", "exp"):
        for k in (40, 521, 2003):
            f = Function(f"prologue_{activation}_{k}")
            x = f.unary(activation, f.argument((33, k), values="uniform(0.5, 2.0, 1)"))
            f.write(f.contract(x, "mk", f.argument((k, 20)), "kn", "mn"))
            f = Function(f"weight_prologue_{activation}_{k}")
            w = f.unary(activation, f.argument((k, 20), values="uniform(0.5, 2.0, 1)"))
            f.write(f.contract(f.argument((33, k)), "mk", w, "kn", "mn"))
    f = Function("shifted_by_kept_row_statistics")
    x = f.argument((33, 700), values="normal(1).put(5, -200.0)")
    top = f.reduce(x, 1, "    %y = arith.maximumf %x0, %x : f32\n", "0xFF800000")
    e = f.generic("ab", [x, top], ["ab", "a"], x.shape, "ab",
                  "    %d = arith.subf %x, %x1 : f32\n    %y = math.exp %d : f32\n")
    f.write(f.contract(e, "mk", f.argument((700, 20)), "kn", "mn"), top)
    f = Function("product_feeds_two_uses")
    y = f.contract(f.argument((33, 20)), "mk", f.argument((20, 40)), "kn", "mn")
    f.write(f.unary("silu", y), f.unary("square", y))
    f = Function("product_is_returned_and_used")
    y = f.contract(f.argument((33, 20)), "mk", f.argument((20, 40)), "kn", "mn")
    f.write(y, f.unary("silu", y))
    f = Function("softmax_of_a_product")
    y = f.contract(f.argument((33, 20)), "mk", f.argument((20, 70)), "kn", "mn")
    f.write(f.softmax(y))
    f = Function("product_of_a_softmax")
    y = f.softmax(f.argument((33, 70)))
    f.write(f.contract(y, "mk", f.argument((70, 20)), "kn", "mn"))
    f = Function("attention_by_hand")
    q, k, v = f.argument((2, 3, 33, 8)), f.argument((2, 3, 50, 8)), f.argument((2, 3, 50, 8))
    s = f.softmax(f.contract(q, "bhid", k, "bhjd", "bhij"))
    f.write(f.contract(s, "bhij", v, "bhjd", "bhid"))
    f = Function("product_of_an_outer_broadcast")
    x = f.generic("ab", [f.argument((33,)), f.argument((40,))], ["a", "b"], (33, 40), "ab",
                  "    %y = arith.mulf %x, %x1 : f32\n")
    f.write(f.contract(x, "mk", f.argument((40, 20)), "kn", "mn"))
    f = Function("three_axes_without_collapse")
    x = f.argument((3, 37, 24))
    y = f.contract(x, "bmk", f.argument((24, 24)), "kn", "bmn")
    y = f.unary("gelu_tanh", f.binary("addf", y, f.argument((24,)), "c"))
    f.write(f.binary("addf", y, x))


def mlp():
    for rows, k, hidden, n in ((33, 20, 64, 20), (40, 16, 1, 16), (7, 30, 131, 9), (64, 33, 257, 33), (5, 600, 300, 512),
                               (20, 24, 100, 600)):
        for activation in ("gelu_tanh", "silu", "exp"):
            f = Function(f"mlp_{rows}_{k}_{hidden}_{n}_{activation}")
            x = f.argument((rows, k), values="normal(3, 0.3)")
            h = f.contract(x, "mk", f.argument((k, hidden), values="normal(4, 0.2)"), "kn", "mn")
            h = f.unary(activation, f.binary("addf", h, f.argument((hidden,)), "b"))
            y = f.contract(h, "mk", f.argument((hidden, n)), "kn", "mn")
            y = f.binary("addf", y, f.argument((n,)), "b")
            f.write(f.binary("addf", y, x) if n == k else y)
    for rows, k, hidden in ((33, 20, 64), (9, 24, 137)):
        for dtype in ("f32", "bf16"):
            f = Function(f"gated_{rows}_{k}_{hidden}_{dtype}")
            x = f.argument((rows, k), dtype)
            a = f.contract(x, "mk", f.argument((k, hidden), dtype), "kn", "mn")
            b = f.contract(x, "mk", f.argument((k, hidden), dtype), "kn", "mn")
            h = f.binary("mulf", f.unary("silu", a), b)
            f.write(h if dtype == "f32" else f.cast(h, dtype))
            f = Function(f"gated_mlp_{rows}_{k}_{hidden}_{dtype}")
            x = f.argument((rows, k), dtype)
            a = f.contract(x, "mk", f.argument((k, hidden), dtype), "kn", "mn")
            b = f.contract(x, "mk", f.argument((k, hidden), dtype), "kn", "mn")
            h = f.binary("mulf", f.unary("silu", a), b)
            h = h if dtype == "f32" else f.cast(h, dtype)
            y = f.contract(h, "mk", f.argument((hidden, k), dtype), "kn", "mn")
            f.write(y if dtype == "f32" else f.cast(y, dtype))
    f = Function("layer_norm_mlp_residual")
    x = f.argument((3, 21, 24))
    u = f.layer_norm(x, f.argument((24,)), f.argument((24,)))
    h = f.contract(u, "bmk", f.argument((24, 96)), "kn", "bmn")
    h = f.unary("gelu_tanh", f.binary("addf", h, f.argument((96,)), "c"))
    y = f.contract(h, "bmk", f.argument((96, 24)), "kn", "bmn")
    f.write(f.binary("addf", f.binary("addf", y, f.argument((24,)), "c"), x))
    f = Function("hidden_value_is_returned_too")
    h = f.unary("silu", f.contract(f.argument((33, 20)), "mk", f.argument((20, 60)), "kn", "mn"))
    f.write(f.contract(h, "mk", f.argument((60, 20)), "kn", "mn"), h)
    f = Function("mlp_over_log_of_hidden")
    x = f.argument((33, 20), values="uniform(0.5, 1.0, 1)")
    h = f.unary("log", f.contract(x, "mk", f.argument((20, 131), values="uniform(0.5, 1.0, 2)"), "kn", "mn"))
    f.write(f.contract(h, "mk", f.argument((131, 20)), "kn", "mn"))


globals()[sys.argv[1]]()
