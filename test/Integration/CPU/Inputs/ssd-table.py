"""Writes a table of ssd ops as MLIR, a function per row: ssd-table.py
forward|gradient. Inputs come from comments, as check.py reads them. Chunks have
128 positions."""

import sys


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
    result_types = [value] + [state] * final
    body = f"  {', '.join(results)} = heddle.ssd %q, %k, %v, %a{clauses}{attributes}\n"
    body += f"    : {key}, {key}, {value}, {log_decay} -> {', '.join(result_types)}\n"
    if gradient:
        floats = [i for i, t in enumerate(types) if not t.endswith("i32>")]
        write_gradient(name, names, types, specs, floats, results, result_types, body)
        return
    for number, spec in enumerate(specs):
        print(f"// INPUT {number}: {spec}")
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
    print(f"func.func @{name}({arguments}) -> ({', '.join(result_types)}) {{")
    print(body + f"  return {', '.join(results)} : {', '.join(result_types)}\n}}\n")


def write_gradient(name, names, types, specs, floats, results, result_types, body):
    """The gradients of sum(results * weights) for all floats among the operands."""
    weights = [f"%w{i}" for i in range(len(results))]
    wide = [t.replace("bf16>", "f32>").replace("xf16>", "xf32>") for t in result_types]
    all_names, all_types = names + weights, types + wide
    specs = specs + [f"normal({20 + i})" for i in range(len(weights))]
    for number, spec in enumerate(specs):
        print(f"// INPUT {number}: {spec}")
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(all_names, all_types))
    gradients = [f"%g{i}" for i in floats]
    gradient_types = ", ".join(types[i] for i in floats)
    print(f"func.func @{name}({arguments}) -> ({gradient_types}) {{")
    print(f"  %s, {', '.join(gradients)} = heddle.value_and_grad @{name}_loss"
          f"({', '.join(all_names)}) wrt {floats}")
    print(f"    : ({', '.join(all_types)}) -> (tensor<f32>, {gradient_types})")
    print(f"  return {', '.join(gradients)} : {gradient_types}\n}}")
    print(f"func.func private @{name}_loss({arguments}) -> tensor<f32> {{")
    print(body + "  %zero = arith.constant dense<0.0> : tensor<f32>")
    total, axes = "%zero", "i, j, k, l"
    maps = f"affine_map<({axes}) -> ({axes})>, " * 2 + f"affine_map<({axes}) -> ()>"
    iterators = ", ".join(['"reduction"'] * 4)
    for r, w, t, f in zip(results, weights, result_types, wide):
        element = t[:-1].split("x")[-1]
        print(f"  {r}s = linalg.generic {{indexing_maps = [{maps}],")
        print(f"      iterator_types = [{iterators}]}} ins({r}, {w} : {t}, {f}) "
              f"outs({total} : tensor<f32>) {{")
        print(f"  ^bb0(%e: {element}, %w: f32, %acc: f32):")
        if element != "f32":
            print(f"    %x = arith.extf %e : {element} to f32")
        print(f"    %p = arith.mulf {'%e' if element == 'f32' else '%x'}, %w : f32")
        print("    %n = arith.addf %acc, %p : f32\n    linalg.yield %n : f32\n  } -> tensor<f32>")
        total = f"{r}s"
    print(f"  return {total} : tensor<f32>\n}}\n")


gradient = sys.argv[1] == "gradient"
for length in (0, 1, 127, 128, 129, 391):
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
ssd("large_decays_among_small_ones", length=140, nonpositive=True, initial=True,
    decay="Tensor(shape, (-0.1 - 100 * (i % 5 == 0) for i in range(math.prod(shape))))")
if not gradient:
    ssd("large_decays", length=140, decay="uniform(-100.1, -100.0, 4)", nonpositive=True)
ssd("decays_of_both_signs", length=140, decay="uniform(-0.3, 0.3, 4)", initial=True)
