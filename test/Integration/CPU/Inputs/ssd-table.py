"""Writes a table of ssd ops as MLIR, a function per row. Inputs come from
comments, as check.py reads them. Chunks have 128 positions."""


def ssd(name, batch=2, length=40, groups=1, heads=2, key_dim=8, value_dim=12,
        dtype="f32", initial=False, final=True, resets=0, reverse=False,
        decay="uniform(-1.0, 0.0, 4)", nonpositive=False):
    def tensor(*axes_and_type):
        return "tensor<" + "x".join(str(a) for a in axes_and_type) + ">"

    key = tensor(batch, length, groups, key_dim, dtype)
    value = tensor(batch, length, heads, value_dim, dtype)
    log_decay = tensor(batch, length, heads, "f32")
    state = tensor(batch, heads, key_dim, value_dim, "f32")
    names, types = ["%q", "%k", "%v", "%a"], [key, key, value, log_decay]
    specs = ["normal(1)", "normal(2)", "normal(3)", decay]
    clauses = ""
    if initial:
        clauses += f" initial_state(%i : {state})"
        names, types = names + ["%i"], types + [state]
        specs.append("normal(5)")
    if resets:
        ids = tensor(batch, length, "i32")
        clauses += f" reset_ids(%r : {ids})"
        names, types = names + ["%r"], types + [ids]
        specs.append("Tensor(shape, (b * 100 + (t + b) * %d // shape[1] "
                     "for b in range(shape[0]) for t in range(shape[1])))" % resets)
    attributes = ["reverse"] * reverse + ["log_decay_nonpositive"] * nonpositive
    attributes = " {" + ", ".join(attributes) + "}" if attributes else ""
    results = ["%o"] + ["%f"] * final
    result_types = ", ".join([value] + [state] * final)
    for number, spec in enumerate(specs):
        print(f"// INPUT {number}: {spec}")
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
    print(f"func.func @{name}({arguments}) -> ({result_types}) {{")
    print(f"  {', '.join(results)} = heddle.ssd %q, %k, %v, %a{clauses}{attributes}")
    print(f"    : {key}, {key}, {value}, {log_decay} -> {result_types}")
    print(f"  return {', '.join(results)} : {result_types}\n}}\n")


for length in (1, 127, 128, 129, 391):
    ssd(f"length_{length}", length=length, initial=True)
ssd("length_391_reverse_resets", length=391, initial=True, reverse=True, resets=5)
ssd("resets_inside_a_chunk", length=100, resets=3, initial=True)
for groups, heads in ((1, 1), (2, 2), (2, 6)):
    ssd(f"groups_{groups}_of_{heads}", groups=groups, heads=heads)
for dtype in ("bf16", "f16"):
    ssd(f"{dtype}_state_in_f32", dtype=dtype, length=200, initial=True, resets=2)
ssd("wide", length=40, heads=1, key_dim=64, value_dim=64)
ssd("narrow", length=7, heads=1, key_dim=1, value_dim=1)
ssd("no_states", length=140, final=False)
# What the logs add up to is far beyond what their differences need.
ssd("large_decays", length=140, decay="uniform(-100.1, -100.0, 4)",
    nonpositive=True)
ssd("decays_of_both_signs", length=140, decay="uniform(-0.3, 0.3, 4)", initial=True)
