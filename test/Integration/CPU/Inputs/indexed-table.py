"""Writes gather, scatter_add and random_bits of every type as MLIR: indexed-table.py gather|scatter|random"""

import sys

ELEMENTS = ("f32", "bf16", "f16", "f64", "i1", "i8", "i16", "i32", "i64", "index")
INDICES = ("i8", "i16", "i32", "i64", "index")
# Inside, at both ends, outside on both sides.
SOME = "[0, 4, 2, -1, 5, 1, -100, 100, 4, 3, 3, 0]"


def tensor(shape, element):
    return "tensor<" + "".join(f"{d}x" for d in shape) + element + ">"


def values(element, seed):
    if element == "i1":
        return f"integers(0, 2, {seed})"
    return f"integers(-90, 90, {seed})" if element[0] == "i" else None


def function(name, arguments, result, body, notes=()):
    """Arguments are (name, type, values)."""
    for n in notes:
        print("// " + n)
    for i, (_, _, v) in enumerate(arguments):
        if v:
            print(f"// INPUT {i}: {v}")
    signature = ", ".join(f"%{n}: {t}" for n, t, _ in arguments)
    print(f"func.func @{name}({signature}) -> {result} {{\n  %y = {body}\n  return %y : {result}\n}}\n")


def gather_of(name, table, indices, mode="", element="f32", index="i32", at=SOME, notes=(), data=None):
    """Shapes of the table and of the indices."""
    t, i = tensor(table, element), tensor(indices, index)
    r = tensor(indices + table[1:], element)
    function(name, [("t", t, data or values(element, 1)), ("i", i, at)], r,
             f"heddle.gather %t[%i] {mode} : {t}, {i} -> {r}", notes)


def scatter_of(name, base, indices, mode="", element="f32", index="i32", at=SOME, notes=(), updates=None, start=None):
    b, i = tensor(base, element), tensor(indices, index)
    u = tensor(indices + base[1:], element)
    function(name, [("b", b, start or values(element, 1)), ("i", i, at), ("u", u, updates or values(element, 2))], b,
             f"heddle.scatter_add %u into %b[%i] {mode} : {u}, {b}, {i}", notes)


MODES = (("clip", ""), ("drop", "mode = drop"))
# As numbers of 32 bits these are 1, 1 and -1.
WIDE = "[4294967297, -4294967295, 4294967295, 2]"


def gather():
    for mode, text in MODES:
        for element in ELEMENTS:
            gather_of(f"gather_{mode}_{element}", (5, 7), (12,), text, element)
        for index in INDICES:
            gather_of(f"gather_{mode}_by_{index}", (5, 7), (3, 4), text, index=index)
        gather_of(f"gather_{mode}_wide_indices", (3, 4), (4,), text, index="i64", at=WIDE)
        gather_of(f"gather_{mode}_one_row", (1, 6), (12,), text)
        gather_of(f"gather_{mode}_scalars", (5,), (12,), text)
        gather_of(f"gather_{mode}_one_index", (5, 3, 2), (), text, at="[3]")
        gather_of(f"gather_{mode}_of_many", (50, 33), (7, 70), text, at="integers(-5, 55, 3)")
        gather_of(f"gather_{mode}_high_rank", (5, 2, 3, 4), (2, 3, 2), text, "bf16")
        gather_of(f"gather_{mode}_truths_as_indices", (3, 4), (4,), text, index="i1", at="[0, 1, 1, 0]")
    gather_of("gather_of_no_rows", (0, 3), (2,), "mode = drop", at="[0, 1]",
              notes=("REFERENCE: none", "EXPECT 0: [0, 0, 0, 0, 0, 0]"))
    gather_of("gather_of_no_indices", (5, 3), (0,), at=None, notes=("REFERENCE: none", "EXPECT 0: []"))
    # Rows are copied: not a bit of them changes.
    gather_of("gather_nan_and_zeros", (2, 2), (2,), at="[1, 0]", data="[[nan, -0.0], [inf, 2.0]]",
              notes=("REFERENCE: none", "EXPECT 0: [inf, 2, nan, 0]"))


def scatter():
    for mode, text in MODES:
        for element in ELEMENTS:
            scatter_of(f"scatter_{mode}_{element}", (5, 7), (12,), text, element)
        for index in INDICES:
            scatter_of(f"scatter_{mode}_by_{index}", (5, 7), (3, 4), text, index=index)
        scatter_of(f"scatter_{mode}_wide_indices", (3, 4), (4,), text, index="i64", at=WIDE)
        scatter_of(f"scatter_{mode}_one_row", (1, 6), (12,), text)
        scatter_of(f"scatter_{mode}_scalars", (5,), (12,), text)
        scatter_of(f"scatter_{mode}_one_index", (5, 3, 2), (), text, at="[3]")
        scatter_of(f"scatter_{mode}_of_many", (50, 33), (7, 70), text, at="integers(-5, 55, 3)")
        scatter_of(f"scatter_{mode}_of_many_bf16", (70, 40), (300,), text, "bf16", at="integers(-5, 75, 3)")
        scatter_of(f"scatter_{mode}_high_rank", (5, 2, 3, 4), (2, 3, 2), text, "f16")
    scatter_of("scatter_no_updates", (5, 3), (0,), at=None)
    # In index order: adding 1 first would lose it. In f32, rounded once.
    scatter_of("scatter_in_order", (2, 1), (4,), at="[1, 1, 1, 1]", updates="[[1e8], [-1e8], [1.0], [0.5]]", start="full(0)",
               notes=("REFERENCE: none", "EXPECT 0: [0, 1.5]"))
    scatter_of("scatter_sums_in_f32", (1, 1), (4,), "", "bf16", at="[0, 0, 0, 0]", updates="full(0.00390625)", start="full(1.0)",
               notes=("EXPECT 0: [1.015625]",))
    scatter_of("scatter_wraps", (1, 2), (2,), "", "i8", at="[0, 0]", updates="[[100, -100], [100, -100]]", start="full(0)",
               notes=("EXPECT 0: [-56, 56]",))


def random():
    for shape in ((1,), (4,), (7,), (3, 5), (2, 3, 4), (), (33, 65), (5000,)):
        for name, offset in (("", "[0]"), ("_carry", "[-2]"), ("_middle", "[4294967295]")):
            if name and len(shape) != 2:
                continue
            r = tensor(shape, "i32")
            function("random_" + "_".join(map(str, shape)) + name,
                     [("s", "tensor<i64>", "[-1234567890123]"), ("o", "tensor<i64>", offset)], r,
                     f"heddle.random_bits %s, %o : tensor<i64>, tensor<i64> -> {r}")
    # Random123's known answers for the key and the counter 0.
    r = "tensor<4xi32>"
    function("random_known", [("s", "tensor<i64>", "[0]"), ("o", "tensor<i64>", "[0]")], r,
             f"heddle.random_bits %s, %o : tensor<i64>, tensor<i64> -> {r}",
             (f"EXPECT 0: {[w - (w >> 31 << 32) for w in (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)]}",))


globals()[sys.argv[1]]()
