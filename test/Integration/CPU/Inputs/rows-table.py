"""Writes tables of everything but products as MLIR: rows-table.py reductions|long|elementwise|views|structure"""

import sys

from graph import Function, MAX, SUM

MIN = "    %y = arith.minimumf %x0, %x : f32\n"


def reductions():
    for shape in ((1,), (7,), (33, 1), (1, 33), (40, 50), (3, 5, 70), (3, 33, 5, 40), (129, 257)):
        for axis in range(len(shape)):
            tag = "_".join(map(str, shape)) + f"_axis_{axis}"
            for name, body, start in (("sum", SUM, 0.0), ("max", MAX, "0xFF800000"), ("min", MIN, "0x7F800000")):
                if name == "min" and len(shape) != 2:
                    continue
                f = Function(f"{name}_{tag}")
                f.write(f.reduce(f.argument(shape), axis, body, start))
            if len(shape) > 1:
                f = Function(f"softmax_{tag}")
                f.write(f.softmax(f.argument(shape), axis))
                f = Function(f"layer_norm_{tag}")
                n = shape[axis]
                # One element has no variance: the result is the shift alone.
                x = f.layer_norm(f.argument(shape), f.argument((n,)), f.argument((n,)), axis)
                f.write(x)
    for shape, dim in (((5, 33), 1), ((5, 33), 0), ((2, 3, 40), 2), ((2, 3, 40), 1)):
        f = Function("named_softmax_%s_%d" % ("_".join(map(str, shape)), dim))
        x, e = f.argument(shape), f.emit(shape, "f32", "tensor.empty() : RESULT")
        f.write(f.emit(shape, "f32", f"linalg.softmax dimension({dim}) ins({x.name} : {x.type}) outs({e.name} : {e.type}) -> RESULT"))
    for dtype in ("bf16", "f16"):
        f = Function(f"sum_{dtype}")
        f.write(f.cast(f.reduce(f.cast(f.argument((40, 300), dtype), "f32"), 1), dtype))
        f = Function(f"sum_accumulates_in_f32_{dtype}")
        f.write(f.reduce(f.argument((40, 300), dtype), 1, f"    %y = arith.addf %x0, %x : {dtype}\n", 0.0, dtype))
        f = Function(f"layer_norm_{dtype}")
        x = f.cast(f.argument((40, 100), dtype), "f32")
        f.write(f.cast(f.layer_norm(x, f.argument((100,)), f.argument((100,))), dtype))
    f = Function("statistics_with_two_uses")
    x = f.argument((40, 100))
    s = f.reduce(x, 1)
    f.write(f.binary("subf", x, s, "a"), f.binary("mulf", x, s, "a"))
    f = Function("statistics_returned_and_used")
    x = f.argument((40, 100))
    s = f.reduce(x, 1)
    f.write(s, f.binary("subf", x, s, "a"))
    f = Function("sum_of_all_by_two_reductions")
    f.write(f.reduce(f.reduce(f.argument((33, 70)), 1), 0))
    f = Function("sum_of_all_at_once")
    x = f.argument((33, 70))
    f.write(f.generic("ab", [x], ["ab"], (), "", SUM, "f32", "ab", f.filled((), 0.0)))
    f = Function("mean_of_squares")
    x = f.unary("square", f.argument((8, 33, 20)))
    f.write(f.generic("abc", [x], ["abc"], (), "", SUM, "f32", "abc", f.filled((), 0.0)))
    f = Function("two_axes_at_once")
    f.write(f.generic("abcd", [f.argument((3, 20, 5, 30))], ["abcd"], (3, 5), "ac", SUM, "f32", "bd", f.filled((3, 5), 0.0)))
    f = Function("long_axis")
    f.write(f.reduce(f.argument((3, 10000)), 1))
    f = Function("initial_value_counts")
    f.write(f.reduce(f.argument((40, 50)), 1, SUM, 2.5))
    f = Function("initial_value_is_an_argument")
    f.write(f.generic("ab", [f.argument((40, 50))], ["ab"], (40,), "a", SUM, "f32", "b", f.argument((40,))))
    f = Function("weighted_sum")
    f.write(f.generic("ab", [f.argument((40, 50)), f.argument((50,)), f.argument((40,))], ["ab", "b", "a"], (40,), "a",
                      "    %p = arith.mulf %x, %x1 : f32\n    %q = arith.mulf %p, %x2 : f32\n    %y = arith.addf %x0, %q : f32\n",
                      "f32", "b", f.filled((40,), 0.0)))
    f = Function("product_along_an_axis")
    f.write(f.reduce(f.argument((40, 5)), 1, "    %y = arith.mulf %x0, %x : f32\n", 1.0))
    f = Function("integer_sum_and_maximum")
    x = f.argument((40, 50), "i32", "integers(-1000, 1000, 1)")
    f.write(f.generic("ab", [x], ["ab"], (40,), "a", "    %y = arith.addi %x0, %x : i32\n", "i32", "b", f.filled((40,), 0, "i32")),
            f.generic("ab", [x], ["ab"], (50,), "b", "    %y = arith.maxsi %x0, %x : i32\n", "i32", "a", f.filled((50,), -2147483648, "i32")))
    f = Function("any_and_all")
    x = f.argument((9, 5), "i1", "integers(0, 2, 1).put(2, 0).put(3, 1)")
    f.write(f.generic("ab", [x], ["ab"], (9,), "a", "    %y = arith.ori %x0, %x : i1\n", "i1", "b", f.filled((9,), "false", "i1")),
            f.generic("ab", [x], ["ab"], (9,), "a", "    %y = arith.andi %x0, %x : i1\n", "i1", "b", f.filled((9,), "true", "i1")))
    f = Function("argmax_of_each_row")
    x = f.argument((9, 33))
    e = [f.filled((9,), "0xFF800000"), f.filled((9,), 0, "i32")]
    best, at = f.fresh((9,), "f32"), f.fresh((9,), "i32")
    f.lines.append(f"""  {best.name}, {at.name} = linalg.generic {{indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}} ins({x.name} : {x.type}) outs({e[0].name}, {e[1].name} : {e[0].type}, {e[1].type}) {{
  ^bb0(%x: f32, %m: f32, %i: i32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %c = arith.cmpf ogt, %x, %m : f32
    %y = arith.select %c, %x, %m : f32
    %z = arith.select %c, %k, %i : i32
    linalg.yield %y, %z : f32, i32
  }} -> ({best.type}, {at.type})""")
    f.write(best, at)
    f = Function("running_sum_over_time")
    x = f.softmax(f.argument((17, 40), values="normal(1, 30.0)"), 1)
    f.write(f.reduce(x, 0))
    # Rows longer than what stays on chip, and just not.
    for n in (3000, 8192, 20000):
        f = Function(f"wide_softmax_{n}")
        f.write(f.softmax(f.argument((3, n), values="normal(1, 3.0)"), 1))
    f = Function("wide_layer_norm_bf16")
    x = f.cast(f.argument((2, 5000), "bf16"), "f32")
    f.write(f.cast(f.layer_norm(x, f.argument((5000,)), f.argument((5000,))), "bf16"))
    f = Function("masked_softmax_with_whole_rows_masked_finite")
    f.write(f.softmax(f.argument((3, 40), values="full(-1e30).put(1, 5, 0.0)"), 1))


def long():
    """Reductions that are cut into parts; lengths include primes and multiples of no part."""
    zero = {"f32": 0.0, "bf16": 0.0, "f16": 0.0, "f64": 0.0, "i32": 0, "i64": 0, "i16": 0, "i8": 0}
    for dtype in zero:
        add = f"    %y = arith.{'addi' if dtype[0] == 'i' else 'addf'} %x0, %x : {dtype}\n"
        values = "integers(-3, 4, 1)" if dtype[0] == "i" else None
        small = dtype in ("f32", "bf16")
        for dims, shape, kept in (("a", (10007,), ""), ("a", (4096,), ""), ("ab", (2048, 40), "b"), ("ab", (1031, 33), "b"), ("abc", (8, 129, 40), "c"),
                                  ("abc", (3, 700, 20), ""), ("abc", (1100, 3, 5), "b"), ("abcd", (4, 30, 7, 20), "bd"), ("ab", (5, 9001), "a")):
            if not small and (shape[0], kept) not in ((10007, ""), (1031, "b"), (3, "")):
                continue
            size = dict(zip(dims, shape))
            f = Function(f"sum_{dtype}_{'_'.join(map(str, shape))}_to_{kept or 'rank_0'}")
            out = tuple(size[c] for c in kept)
            reduced = "".join(c for c in dims if c not in kept)
            f.write(f.generic(dims, [f.argument(shape, dtype, values)], [dims], out, kept, add, dtype, reduced, f.filled(out, zero[dtype], dtype)))
    for name, body, start in (("max", MAX, "0xFF800000"), ("min", MIN, "0x7F800000"),
                              ("product", "    %y = arith.mulf %x0, %x : f32\n", 1.0)):
        length = 1100 if name == "product" else 5003  # every factor is rounded
        for dims, shape, kept in (("a", (length,), ""), ("ab", (length, 17), "b")):
            f = Function(f"{name}_of_{shape[0]}_to_{kept or 'rank_0'}")
            size = dict(zip(dims, shape))
            out = tuple(size[c] for c in kept)
            x = f.argument(shape, "f32", "uniform(0.9995, 1.0005, 1)")
            f.write(f.generic(dims, [x], [dims], out, kept, body, "f32", "a", f.filled(out, start)))
    # A step of 0.1 is lost in a sum of 100000; a sum of sums keeps it.
    for shape in ((1 << 20,), (4096, 256), (16, 256, 256)):
        dims = "abc"[:len(shape)]
        f = Function("a_million_equal_values_" + "_".join(map(str, shape)))
        f.notes += ["// EXPECT 0: [104857.6015625] +- 0.05"]
        f.write(f.generic(dims, [f.argument(shape, "f32", "full(0.1)")], [dims], (), "", SUM, "f32", dims, f.filled((), 0.0)))
    # 1 + 4096 * 2^-12: the steps are below the resolution of bf16, their sum is not.
    f = Function("a_long_sum_is_rounded_once")
    f.notes += ["// EXPECT 0: [2.0, 2.0, 2.0]"]
    x = f.argument((4096, 3), "bf16", "full(0.000244140625)")
    f.write(f.generic("ab", [x], ["ab"], (3,), "b", "    %y = arith.addf %x0, %x : bf16\n", "bf16", "a", f.filled((3,), 1.0, "bf16")))
    f = Function("initial_value_of_a_long_sum")
    f.write(f.generic("ab", [f.argument((1500, 9))], ["ab"], (9,), "b", SUM, "f32", "a", f.argument((9,))))
    f = Function("bias_gradient_of_a_gelu_over_batch_and_time")
    x, dy = f.argument((4, 300, 24)), f.argument((4, 300, 24))
    h = f.generic("abc", [x, dy], ["abc", "abc"], x.shape, "abc", "    %t = math.tanh %x : f32\n    %y = arith.mulf %t, %x1 : f32\n")
    f.write(f.generic("abc", [h], ["abc"], (24,), "c", SUM, "f32", "ab", f.filled((24,), 0.0)))
    for dtype in ("f32", "bf16"):
        f = Function(f"scale_and_shift_gradients_of_a_norm_{dtype}")
        x, dy = f.argument((1200, 40), dtype), f.argument((1200, 40), dtype)
        x, dy = (f.cast(v, "f32") if dtype != "f32" else v for v in (x, dy))
        mean = f.generic("a", [f.reduce(x, 1)], ["a"], (1200,), "a", "    %n = arith.constant 40.0 : f32\n    %y = arith.divf %x, %n : f32\n")
        centred = f.binary("subf", x, mean, "a")
        squares = f.generic("ab", [centred], ["ab"], (1200,), "a", "    %q = arith.mulf %x, %x : f32\n    %y = arith.addf %x0, %q : f32\n", "f32", "b", f.filled((1200,), 0.0))
        rstd = f.generic("a", [squares], ["a"], (1200,), "a", "    %e = arith.constant 1.0 : f32\n    %s = arith.addf %x, %e : f32\n    %y = math.rsqrt %s : f32\n")
        unit = f.binary("mulf", centred, rstd, "a")
        both = f.generic("ab", [unit, dy], ["ab", "ab"], (40,), "b", "    %q = arith.mulf %x, %x1 : f32\n    %y = arith.addf %x0, %q : f32\n", "f32", "a", f.filled((40,), 0.0))
        f.write(both, f.generic("ab", [dy], ["ab"], (40,), "b", SUM, "f32", "a", f.filled((40,), 0.0)))
    for dtype in ("f32", "bf16", "f16"):
        f = Function(f"weight_gradient_of_recomputed_operands_{dtype}")
        x, dy = f.argument((3, 70, 33), dtype), f.argument((3, 70, 50), dtype)
        h = f.generic("abc", [x], ["abc"], x.shape, "abc", f"    %y = math.tanh %x : {dtype}\n", dtype)
        wide = "" if dtype == "f32" else f"    %l = arith.extf %x : {dtype} to f32\n    %r = arith.extf %x1 : {dtype} to f32\n"
        l, r = ("%x", "%x1") if dtype == "f32" else ("%l", "%r")
        f.write(f.generic("abcd", [h, dy], ["abc", "abd"], (33, 50), "cd", wide + f"    %p = arith.mulf {l}, {r} : f32\n    %y = arith.addf %x0, %p : f32\n", "f32", "ab", f.filled((33, 50), 0.0)))


FLOAT_UNARY = {
    "math.absf": "normal(1)", "math.exp": "uniform(-80, 80, 1)", "math.exp2": "uniform(-100, 100, 1)", "math.expm1": "uniform(-3, 3, 1)",
    "math.log": "uniform(1e-3, 1e3, 1)", "math.log2": "uniform(1e-3, 1e3, 1)", "math.log10": "uniform(1e-3, 1e3, 1)",
    "math.log1p": "uniform(-0.9, 10, 1)", "math.sqrt": "uniform(0, 9, 1)", "math.rsqrt": "uniform(0.1, 9, 1)", "math.cbrt": "normal(1)",
    "math.sin": "uniform(-20, 20, 1)", "math.cos": "uniform(-20, 20, 1)", "math.tan": "uniform(-1, 1, 1)",
    "math.asin": "uniform(-1, 1, 1)", "math.acos": "uniform(-1, 1, 1)", "math.atan": "normal(1)",
    "math.sinh": "normal(1)", "math.cosh": "normal(1)", "math.tanh": "normal(1, 3.0)",
    "math.asinh": "normal(1)", "math.acosh": "uniform(1, 9, 1)", "math.atanh": "uniform(-0.9, 0.9, 1)",
    "math.erf": "normal(1, 2.0)", "math.erfc": "normal(1, 2.0)", "math.ceil": "normal(1, 9.0)", "math.floor": "normal(1, 9.0)",
    "math.round": "normal(1, 9.0)", "math.roundeven": "normal(1, 9.0)", "math.trunc": "normal(1, 9.0)", "arith.negf": "normal(1)"}
FLOAT_BINARY = {
    "arith.addf": "", "arith.subf": "", "arith.mulf": "", "arith.divf": "", "arith.remf": "", "arith.maximumf": "", "arith.minimumf": "",
    "arith.maxnumf": "", "arith.minnumf": "", "math.atan2": "", "math.copysign": "", "math.powf": "uniform(0.1, 4, 1)"}
INT_BINARY = ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi", "maxsi", "minsi", "maxui", "minui",
              "andi", "ori", "xori", "shli", "shrsi", "shrui")


def elementwise():
    for op, values in FLOAT_UNARY.items():
        for dtype in ("f32", "bf16", "f16", "f64"):
            if dtype in ("bf16", "f16") and op not in ("math.exp", "math.log", "math.tanh", "math.erf", "math.sqrt", "math.absf",
                                                       "arith.negf", "math.floor", "math.sin"):
                continue
            if dtype == "f16" and op == "math.exp":
                values = "uniform(-8, 8, 1)"
            f = Function(op.split(".")[1] + "_" + dtype)
            x = f.argument((5, 41), dtype, values)
            f.write(f.generic("ab", [x], ["ab"], x.shape, "ab", f"    %y = {op} %x : {dtype}\n", dtype))
    for op, values in FLOAT_BINARY.items():
        for dtype in ("f32", "bf16", "f16"):
            if dtype != "f32" and op in ("math.atan2", "math.copysign", "math.powf", "arith.remf"):
                continue
            f = Function(op.split(".")[1] + "_" + dtype)
            x, y = f.argument((5, 41), dtype, values or None), f.argument((5, 41), dtype)
            f.write(f.generic("ab", [x, y], ["ab", "ab"], x.shape, "ab", f"    %y = {op} %x, %x1 : {dtype}\n", dtype))
    for op in INT_BINARY:
        for dtype in ("i32", "i8", "i64", "i16"):
            if dtype != "i32" and op not in ("addi", "muli", "maxsi", "maxui", "shrsi", "divsi"):
                continue
            f = Function(f"{op}_{dtype}")
            shift = op.startswith("sh")
            x = f.argument((5, 41), dtype, "integers(-100, 100, 1)")
            y = f.argument((5, 41), dtype, "integers(0, 7, 2)" if shift else "integers(1, 20, 2)")
            f.write(f.generic("ab", [x, y], ["ab", "ab"], x.shape, "ab", f"    %y = arith.{op} %x, %x1 : {dtype}\n", dtype))
    for name, source, to, body in (
            ("sitofp", "i32", "f32", "arith.sitofp %x : i32 to f32"), ("uitofp_i1", "i1", "f32", "arith.uitofp %x : i1 to f32"),
            ("fptosi", "f32", "i32", "arith.fptosi %x : f32 to i32"), ("extsi", "i8", "i32", "arith.extsi %x : i8 to i32"),
            ("extui", "i8", "i32", "arith.extui %x : i8 to i32"), ("extui_i1", "i1", "i32", "arith.extui %x : i1 to i32"),
            ("trunci", "i32", "i8", "arith.trunci %x : i32 to i8"), ("bitcast", "f32", "i32", "arith.bitcast %x : f32 to i32"),
            ("bitcast_bf16", "bf16", "i16", "arith.bitcast %x : bf16 to i16"), ("bitcast_to_bf16", "i16", "bf16", "arith.bitcast %x : i16 to bf16"),
            ("truncf_bf16", "f32", "bf16", "arith.truncf %x : f32 to bf16"), ("truncf_f16", "f32", "f16", "arith.truncf %x : f32 to f16"),
            ("extf_bf16", "bf16", "f32", "arith.extf %x : bf16 to f32"), ("extf_f64", "f32", "f64", "arith.extf %x : f32 to f64"),
            ("truncf_f64", "f64", "f32", "arith.truncf %x : f64 to f32"), ("sitofp_bf16", "i32", "bf16", "arith.sitofp %x : i32 to bf16"),
            ("ctpop", "i32", "i32", "math.ctpop %x : i32"), ("absi", "i32", "i32", "math.absi %x : i32"),
            ("not", "i1", "i1", "arith.xori %x, %t : i1"), ("fptosi_f64", "f64", "i64", "arith.fptosi %x : f64 to i64")):
        f = Function("convert_" + name)
        values = "normal(1, 50.0)" if source[0] in "fb" else None
        if to == "bf16" and source == "i16":
            values = "integers(16000, 16500, 1)"
        if source == "f32" and to == "f16":
            values = "normal(1).put(0, 0, 1e-7).put(0, 1, 65519.0)"
        x = f.argument((5, 41), source, values)
        extra = "    %t = arith.constant true\n" if name == "not" else ""
        f.write(f.generic("ab", [x], ["ab"], x.shape, "ab", extra + f"    %y = {body}\n", to))
    for op in ("divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi"):
        for dtype in ("i32",) if "u" in op else ("i32", "i64"):
            # By zero the result is 0; the lowest number by -1 wraps.
            f = Function(f"{op}_is_total_{dtype}")
            lowest = -2 ** (int(dtype[1:]) - 1)
            x = f.argument((5,), dtype, f"[7, {lowest}, -7, 0, 9]")
            y = f.argument((5,), dtype, "[0, -1, 2, 0, 4]")
            body = f"    %y = arith.{op} %x, %x1 : {dtype}\n"
            f.write(f.generic("a", [x, y], ["a", "a"], x.shape, "a", body, dtype))
    for p in ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ult", "une", "uno"):
        f = Function(f"cmpf_{p}")
        x, y = f.argument((3, 40), "f32", "integers(0, 3, 1).put(0, 0, nan)"), f.argument((3, 40), "f32", "integers(0, 3, 2).put(0, 1, nan)")
        f.write(f.generic("ab", [x, y], ["ab", "ab"], x.shape, "ab", f"    %y = arith.cmpf {p}, %x, %x1 : f32\n", "i1"))
    for p in ("eq", "ne", "slt", "sge", "ult", "ugt"):
        f = Function(f"cmpi_{p}")
        x, y = f.argument((3, 40), "i32", "integers(-3, 3, 1)"), f.argument((3, 40), "i32", "integers(-3, 3, 2)")
        f.write(f.generic("ab", [x, y], ["ab", "ab"], x.shape, "ab", f"    %y = arith.cmpi {p}, %x, %x1 : i32\n", "i1"))
    for dtype in ("f32", "bf16", "i32", "i8", "i1"):
        f = Function(f"select_{dtype}")
        x, y, c = f.argument((9, 40), dtype), f.argument((9, 40), dtype), f.argument((9, 1), "i1")
        f.write(f.generic("ab", [x, y, f.argument((9,), "i1"), f.argument((40,), "i1")], ["ab", "ab", "a", "b"], x.shape, "ab",
                          f"    %c = arith.andi %x2, %x3 : i1\n    %y = arith.select %c, %x, %x1 : {dtype}\n", dtype), c)
    add3 = "    %s = arith.addf %x, %x1 : f32\n    %y = arith.addf %s, %x2 : f32\n"
    for name, dims, shape, maps in (
            ("rank_0", "", (), ["", "", ""]), ("rank_1", "a", (70,), ["a", "", "a"]), ("rank_2_both_ways", "ab", (33, 70), ["ab", "ba", "b"]),
            ("rank_2_column", "ab", (70, 33), ["a", "ab", "ba"]), ("rank_3_rotated", "abc", (5, 33, 20), ["abc", "cab", "bca"]),
            ("rank_3_broadcast", "abc", (5, 33, 20), ["ac", "b", "abc"]), ("rank_4_attention_layouts", "abcd", (2, 17, 3, 8), ["abcd", "acbd", "dcba"]),
            ("rank_5", "abcde", (2, 3, 4, 5, 6), ["abcde", "edcba", "c"]), ("rank_6", "abcdef", (2, 3, 2, 3, 2, 3), ["abcdef", "fbd", "aec"]),
            ("ones", "abc", (1, 1, 1), ["abc", "cba", "b"]), ("inner_one", "abc", (40, 50, 1), ["abc", "bac", "a"]),
            ("outer_one", "abc", (1, 40, 50), ["abc", "acb", "c"]), ("output_is_broadcast", "ab", (40, 50), ["a", "b", ""]),
            ("long_row", "ab", (2, 5000), ["ab", "b", "a"]), ("long_column", "ab", (5000, 2), ["ab", "b", "a"])):
        size = dict(zip(dims, shape))
        f = Function("broadcast_" + name)
        inputs = [f.argument([size[c] for c in m]) for m in maps]
        f.write(f.generic(dims, inputs, maps, shape, dims, add3))
        if len(dims) > 1:
            f = Function("transposed_result_" + name)
            inputs = [f.argument([size[c] for c in m]) for m in maps]
            f.write(f.generic(dims, inputs, maps, shape[::-1], dims[::-1], add3))
    for dtype in ("i32", "i1", "i8", "bf16", "f64", "i64"):
        f = Function(f"transpose_{dtype}")
        x = f.argument((37, 50), dtype)
        op = "ori %x, %x" if dtype[0] == "i" else "negf %x"
        f.write(f.generic("ab", [x], ["ba"], (50, 37), "ab", f"    %y = arith.{op} : {dtype}\n", dtype))
    f = Function("named_transpose")
    x = f.argument((3, 37, 50))
    e = f.emit((50, 3, 37), "f32", "tensor.empty() : RESULT")
    f.write(f.emit((50, 3, 37), "f32", f"linalg.transpose ins({x.name} : {x.type}) outs({e.name} : {e.type}) permutation = [2, 0, 1]"))
    f = Function("named_broadcast")
    x = f.argument((37,))
    e = f.emit((5, 37, 4), "f32", "tensor.empty() : RESULT")
    f.write(f.emit((5, 37, 4), "f32", f"linalg.broadcast ins({x.name} : {x.type}) outs({e.name} : {e.type}) dimensions = [0, 2]"))
    f = Function("named_map")
    x = f.argument((5, 37))
    e = f.emit((5, 37), "f32", "tensor.empty() : RESULT")
    f.write(f.emit((5, 37), "f32", f"linalg.map {{ math.absf }} ins({x.name} : {x.type}) outs({e.name} : {e.type})"))
    f = Function("named_reduce")
    x = f.argument((5, 37, 3))
    z = f.filled((5, 3), 0.0)
    f.write(f.emit((5, 3), "f32", f"linalg.reduce {{ arith.addf }} ins({x.name} : {x.type}) outs({z.name} : {z.type}) dimensions = [1]"))
    f = Function("named_copy_and_exp")
    x = f.argument((5, 37))
    e = f.emit((5, 37), "f32", "tensor.empty() : RESULT")
    y = f.emit((5, 37), "f32", f"linalg.exp ins({x.name} : {x.type}) outs({e.name} : {e.type}) -> RESULT")
    f.write(f.emit((5, 37), "f32", f"linalg.copy ins({y.name} : {y.type}) outs({e.name} : {e.type}) -> RESULT"))
    f = Function("ops_on_whole_tensors")
    x, y = f.argument((5, 37)), f.argument((5, 37))
    s = f.emit(x.shape, "f32", f"arith.addf {x.name}, {y.name} : RESULT")
    t = f.emit(x.shape, "f32", f"math.tanh {s.name} : RESULT")
    c = f.emit(x.shape, "i1", f"arith.cmpf ogt, {t.name}, {x.name} : {x.type}")
    f.write(f.emit(x.shape, "f32", f"arith.select {c.name}, {t.name}, {x.name} : {c.type}, RESULT"), c)
    f = Function("positions_in_the_body")
    x = f.argument((5, 37))
    f.write(f.generic("ab", [x], ["ab"], x.shape, "ab", "    %i = linalg.index 0 : index\n    %j = linalg.index 1 : index\n"
                      "    %c = arith.cmpi sge, %i, %j : index\n    %z = arith.constant 0.0 : f32\n    %y = arith.select %c, %x, %z : f32\n"))
    f = Function("positions_without_inputs")
    f.write(f.generic("ab", [], [], (5, 37), "ab", "    %i = linalg.index 1 : index\n"
                      "    %k = arith.index_cast %i : index to i32\n    %y = arith.sitofp %k : i32 to f32\n"))
    f = Function("scalar_operand")
    x = f.argument((5, 37))
    c = f.fresh((), "f32")
    f.lines.append(f"  {c.name} = arith.constant 2.5 : f32")
    e = f.emit(x.shape, "f32", "tensor.empty() : RESULT")
    v = f.fresh(x.shape, "f32")
    f.lines.append(f"  {v.name} = linalg.generic {{indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> ()>, affine_map<(a, b) -> (a, b)>], "
                   f"iterator_types = [\"parallel\", \"parallel\"]}} ins({x.name}, {c.name} : {x.type}, f32) outs({e.name} : {e.type}) {{\n"
                   f"  ^bb0(%x: f32, %s: f32, %o: f32):\n    %y = arith.mulf %x, %s : f32\n    linalg.yield %y : f32\n  }} -> {v.type}")
    f.write(v)
    f = Function("captured_constant")
    x = f.argument((5, 37))
    c = f.fresh((), "f32")
    f.lines.append(f"  {c.name} = arith.constant 2.5 : f32")
    f.write(f.generic("ab", [x], ["ab"], x.shape, "ab", f"    %y = arith.mulf %x, {c.name} : f32\n"))
    f = Function("init_is_read")
    f.write(f.generic("ab", [f.argument((5, 37))], ["ab"], (5, 37), "ab", "    %y = arith.addf %x, %x0 : f32\n", "f32", "", f.argument((5, 37))))
    f = Function("many_operands")
    inputs = [f.argument((9, 40)) for _ in range(12)]
    body = "".join(f"    %s{i} = arith.addf {'%x' if i == 1 else f'%s{i - 1}'}, %x{i} : f32\n" for i in range(1, 11)) + "    %y = arith.addf %s10, %x11 : f32\n"
    f.write(f.generic("ab", inputs, ["ab"] * 12, (9, 40), "ab", body))
    f = Function("dense_constant_operand")
    x = f.argument((2, 3))
    f.write(f.binary("addf", x, f.constant((2, 3), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]")))
    f = Function("two_results_of_one_op")
    x = f.argument((5, 37))
    e = f.emit(x.shape, "f32", "tensor.empty() : RESULT")
    a, b = f.fresh(x.shape, "f32"), f.fresh(x.shape, "f32")
    f.lines.append(f"  {a.name}, {b.name} = linalg.generic {{indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], "
                   f"iterator_types = [\"parallel\", \"parallel\"]}} ins({x.name} : {x.type}) outs({e.name}, {e.name} : {e.type}, {e.type}) {{\n"
                   f"  ^bb0(%x: f32, %o: f32, %p: f32):\n    %y = arith.negf %x : f32\n    %z = arith.mulf %x, %x : f32\n    linalg.yield %y, %z : f32, f32\n  }} -> ({a.type}, {b.type})")
    f.write(a, b)
    for shape in ((0,), (0, 5), (5, 0)):
        f = Function("nothing_" + "_".join(map(str, shape)))
        f.notes += ["// REFERENCE: none", "// EXPECT 0: []"]
        f.write(f.unary("square", f.argument(shape)))
    f = Function("sum_of_nothing")
    f.notes += ["// REFERENCE: none", "// EXPECT 0: [0, 0, 0]"]
    f.write(f.reduce(f.argument((3, 0)), 1))


globals()[sys.argv[1]]()
