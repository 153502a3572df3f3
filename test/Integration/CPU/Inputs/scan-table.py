"""Writes tables of scans as MLIR: scan-table.py linear|linear-gradient|selective|gradient|gradient-chunks|both [PART/PARTS]

One function per row, the name says what is in it. Inputs come from comments, as
check.py reads them. With PART every PARTS-th row is written.
"""

import sys

rows = []

# |a| is close to 1, so that little is forgotten over thousands of steps.
TURN = ("Tensor(shape, (0.9999 * math.cos(0.1 * i) for i in range(shape[0])))",
        "Tensor(shape, (0.9999 * math.sin(0.1 * i) for i in range(shape[0])))")


def tensor(*axes_and_type):
    return "tensor<" + "x".join(str(a) for a in axes_and_type) + ">"


def function(name, operands, results, op, attributes, chunk=None):
    """operands: (keyword or None, types, specs of the values); results: (syntax,
    type) as the op prints them. A gradient with a `chunk`, the type of its states
    and their number of steps, has the scan before it, which leaves them; with 0
    steps a pass has to see to that."""
    out, number, plain, clauses, arguments = "", 0, [], "", []
    for keyword, types, specs in operands:
        names = [f"%{number + i}" for i in range(len(types))]
        for name_, type_, spec in zip(names, types, specs):
            arguments.append(f"{name_}: {type_}")
            if spec:
                out += f"// INPUT {number}: {spec}\n"
            number += 1
        if keyword:
            clauses += f" {keyword}({', '.join(names)} : {', '.join(types)})"
        else:
            plain += zip(names, types)
    before = ""
    if chunk:
        states, steps = chunk
        scan = [c for c in operands[1:] if c[0] != "dfinal_state"]
        more = "".join(f" {c[0]}(%{6 + i} : {c[1][0]})" for i, c in enumerate(scan))
        given = attributes + ([f"chunk = {steps}"] if steps else [])
        before = f"  %y{', %states' if steps else ''} = heddle.selective_scan "
        before += ", ".join(n for n, _ in plain[:5]) + more
        before += " {" + ", ".join(given) + "}" if given else ""
        before += f"\n    : {', '.join(t for _, t in plain[:5])} -> {plain[0][1]}"
        before += f", chunk_states {states}\n" if steps else "\n"
        if steps:
            clauses += f" chunk_states(%states : {states})"
            attributes = given
    values = [f"%r{i}" for i in range(len(results))]
    types = ", ".join(t for _, t in results)
    syntax = ", ".join((f"{k} " if k else "") + t for k, t in results)
    if op != "selective_scan":
        syntax = f"({syntax})"
    attributes = " {" + ", ".join(attributes) + "}" if attributes else ""
    if chunk:
        types += ", " + plain[0][1]
    out += f"func.func @{name}({', '.join(arguments)}) -> ({types}) {{\n" + before
    out += f"  {', '.join(values)} = heddle.{op} {', '.join(n for n, _ in plain)}"
    out += clauses + attributes + f"\n    : {', '.join(t for _, t in plain)} -> {syntax}\n"
    values += ["%y"] if chunk else []
    rows.append(out + f"  return {', '.join(values)} : {types}\n}}\n")


def ids(segments):
    """Reset ids: `segments` of equal length in each sequence, at odd places."""
    return ("Tensor(shape, (b * 100 + (t + b) * %d // shape[1] "
            "for b in range(shape[0]) for t in range(shape[1])))" % segments)


def linear(name, batch=2, length=40, channels=40, dtype="f32", complex=False,
           constant=False, initial=False, final=True, resets=0, reverse=False,
           decay=None):
    b = tensor(batch, length, channels, dtype)
    a = tensor(channels, dtype) if constant else b
    state = tensor(batch, channels, "f32")
    decay = decay or ("uniform(-0.7, 0.7, 1)", "uniform(-0.7, 0.7, 2)")
    operands = [(None, [a, b], [decay[0], "normal(3)"])]
    results = [("", b)]
    if complex:
        operands.append(("imag", [a, b], [decay[1], "normal(4)"]))
        results.append(("imag", b))
    if initial:
        operands.append(("initial_state", [state], ["normal(5)"]))
        if complex:
            operands.append(("initial_state_imag", [state], ["normal(6)"]))
    if resets:
        operands.append(("reset_ids", [tensor(batch, length, "i32")], [ids(resets)]))
    if final:
        results.append(("final", state))
        if complex:
            results.append(("final_imag", state))
    function(name, operands, results, "linear_scan", ["reverse"] if reverse else [])


def linear_gradient(name, batch=2, length=40, channels=40, dtype="f32", complex=False,
                    constant=False, initial=False, dfinal=False, resets=0, reverse=False,
                    decay=None):
    h = tensor(batch, length, channels, dtype)
    a = tensor(channels, dtype) if constant else h
    state = tensor(batch, channels, "f32")
    decay = decay or ("uniform(-0.7, 0.7, 1)", "uniform(-0.7, 0.7, 2)")
    operands = [(None, [a, h, h], [decay[0], "normal(3)", "normal(4)"])]
    results = [("", a), ("", h)]
    if complex:
        operands.append(("imag", [a, h, h], [decay[1], "normal(5)", "normal(6)"]))
        results += [("a_imag", a), ("b_imag", h)]
    for keyword, there, seed in (("initial_state", initial, 7), ("dfinal_state", dfinal, 9)):
        for part in ("", "_imag") if complex else ("",):
            if there:
                operands.append((keyword + part, [state], [f"normal({seed + len(part)})"]))
                if keyword == "initial_state":
                    results.append((keyword + part, state))
    if resets:
        operands.append(("reset_ids", [tensor(batch, length, "i32")], [ids(resets)]))
    function(name, operands, results, "linear_scan_grad", ["reverse"] if reverse else [])


def selective(name, batch=2, length=40, channels=40, states=5, dtype="f32",
              delta_dtype=None, groups=None, c_groups=None, skip=False, gate=False,
              bias=False, softplus=True, initial=False, final=True, resets=0,
              reverse=False, delta=None, gradient=False, dfinal=False, chunk=None):
    u = tensor(batch, length, channels, dtype)
    dt = tensor(batch, length, channels, delta_dtype or dtype)

    def row(g):
        return tensor(batch, length, *([g] if g else []), states, dtype)

    vector, state = tensor(channels, "f32"), tensor(batch, channels, states, "f32")
    operands = [(None, [u, dt, tensor(channels, states, "f32"), row(groups),
                        row(c_groups or groups)],
                 ["normal(1)", delta or ("normal(2)" if softplus else "uniform(0.01, 0.5, 2)"),
                  "uniform(-2.0, -0.1, 3)", "normal(4)", "normal(5)"])]
    if skip:
        operands.append(("d", [vector], ["normal(6)"]))
    if gate:
        operands.append(("z", [u], ["normal(7)"]))
    if bias:
        operands.append(("delta_bias", [vector],
                         ["normal(8)" if softplus else "uniform(0.1, 0.3, 8)"]))
    if initial:
        operands.append(("initial_state", [state], ["normal(9)"]))
    if resets:
        operands.append(("reset_ids", [tensor(batch, length, "i32")], [ids(resets)]))
    attributes = (["delta_softplus"] if softplus else []) + (["reverse"] if reverse else [])
    if not gradient:
        results = [("", u)] + ([("", state)] if final else [])
        function(name, operands, results, "selective_scan", attributes)
        return
    operands[0][1].append(u)
    operands[0][2].append("normal(10)")
    if dfinal:
        operands.append(("dfinal_state", [state], ["normal(11)"]))
    results = [("", t) for t in operands[0][1][:5]]
    results += [(k, t[0]) for k, t, _ in operands[1:] if k in
                ("d", "z", "delta_bias", "initial_state")]
    if chunk is not None:
        boundaries = -(-length // chunk) - 1 if chunk else 0
        chunk = (tensor(batch, boundaries, channels, states, "f32"), chunk)
    function(name, operands, results, "selective_scan_grad", attributes, chunk)


def linear_table():
    for length in (1, 2, 63, 64, 65, 199):
        linear(f"length_{length}", length=length, initial=True)
    for channels in (1, 8, 32, 33, 128, 300, 1030):
        linear(f"channels_{channels}", channels=channels, length=9, batch=3)
    linear("one_long_row_of_channels", batch=5, channels=2050, length=3)
    for dtype in ("f32", "bf16", "f16"):
        for constant in (False, True):
            for complex in (False, True):
                name = "_".join([dtype, "constant" if constant else "varying",
                                 "complex" if complex else "real"])
                linear(name, dtype=dtype, constant=constant, complex=complex, initial=True)
                linear(name + "_reverse_resets", dtype=dtype, constant=constant,
                       complex=complex, initial=True, resets=3, reverse=True, length=29)
    linear("resets", resets=4)
    linear("resets_at_every_step", resets=40, initial=True)
    linear("no_states", final=False)
    linear("decay_close_to_one", constant=True, complex=True, length=3000, channels=7,
           batch=2, decay=TURN, initial=True)


def linear_gradient_table():
    for length in (1, 2, 3, 65):
        linear_gradient(f"length_{length}", length=length, initial=True, dfinal=True)
    for channels in (1, 33, 300):
        linear_gradient(f"channels_{channels}", channels=channels, length=9, batch=3,
                        constant=True)
    for dtype in ("f32", "bf16", "f16"):
        for constant in (False, True):
            for complex in (False, True):
                name = "_".join([dtype, "constant" if constant else "varying",
                                 "complex" if complex else "real"])
                options = dict(dtype=dtype, constant=constant, complex=complex,
                               initial=True, dfinal=True, length=29)
                linear_gradient(name, **options)
                linear_gradient(name + "_reverse_resets", resets=3, reverse=True, **options)
    linear_gradient("resets", resets=4)
    linear_gradient("resets_at_every_step", resets=40, initial=True)
    linear_gradient("one_sequence", batch=1, channels=70, constant=True, complex=True)
    linear_gradient("decay_close_to_one", constant=True, complex=True, length=3000,
                    channels=7, decay=TURN, initial=True, dfinal=True)


def selective_table():
    # Chunks have 16 steps.
    for length in (1, 2, 15, 16, 17, 55, 199):
        selective(f"length_{length}", length=length, initial=True)
    for channels in (1, 8, 31, 32, 33, 100):
        selective(f"channels_{channels}", channels=channels, length=9, skip=True)
    for states in (1, 3, 16, 64, 128, 256):
        selective(f"states_{states}", states=states, length=7, channels=20, initial=True)
    for dtype in ("f32", "bf16", "f16"):
        selective(f"all_operands_{dtype}", dtype=dtype, skip=True, gate=True, bias=True,
                  initial=True, resets=3, length=50)
        selective(f"all_operands_{dtype}_reverse", dtype=dtype, skip=True, gate=True,
                  bias=True, initial=True, resets=3, reverse=True, length=50)
    selective("delta_in_f32", dtype="bf16", delta_dtype="f32", gate=True, final=False)
    selective("no_softplus", softplus=False)
    selective("no_softplus_bias", softplus=False, bias=True, skip=True)
    selective("no_final_state", final=False, gate=True)
    for groups, channels in ((1, 40), (2, 40), (4, 128), (5, 40), (40, 40), (3, 111)):
        selective(f"groups_{groups}_of_{channels}", groups=groups, channels=channels,
                  length=11, initial=True, skip=True)
    selective("groups_of_b_and_c_differ", groups=6, c_groups=4, channels=24, length=11)
    selective("resets_at_every_step", resets=40, initial=True, length=40)
    selective("large_steps", delta="uniform(-110.0, 110.0, 2)", bias=True, length=20)


def gradient(name, **options):
    selective(name, gradient=True, **options)


def gradient_table():
    # Chunks have 16 steps or the square root of the length.
    for length in (1, 2, 15, 16, 17, 55, 330):
        gradient(f"length_{length}", length=length, initial=True, dfinal=True)
    for channels in (1, 8, 31, 33, 100):
        gradient(f"channels_{channels}", channels=channels, length=20, skip=True)
    gradient("one_sequence", batch=1, channels=200, length=20, skip=True, bias=True)
    gradient("many_sequences", batch=7, channels=70, length=20, skip=True, bias=True)
    for states in (1, 3, 16, 64, 128, 256):
        gradient(f"states_{states}", states=states, length=18, channels=20, initial=True)
    everything = dict(skip=True, gate=True, bias=True, initial=True, dfinal=True, length=50)
    for dtype in ("f32", "bf16", "f16"):
        gradient(f"all_operands_{dtype}", dtype=dtype, resets=3, **everything)
        gradient(f"all_operands_{dtype}_reverse", dtype=dtype, resets=3, reverse=True,
                 **everything)
    gradient("no_resets", **everything)
    gradient("no_resets_reverse", reverse=True, **everything)
    gradient("delta_in_f32", dtype="bf16", delta_dtype="f32", gate=True)
    gradient("no_softplus", softplus=False)
    gradient("no_softplus_bias", softplus=False, bias=True, skip=True)
    gradient("gate_without_skip", gate=True)
    for groups, channels in ((1, 40), (2, 40), (4, 128), (5, 40), (40, 40), (3, 111)):
        gradient(f"groups_{groups}_of_{channels}", groups=groups, channels=channels,
                 length=11, initial=True, skip=True)
    gradient("groups_of_b_and_c_differ", groups=6, c_groups=4, channels=24, length=11)
    gradient("groups_of_b_only", groups=2, c_groups=1, channels=128, length=11, batch=1)
    gradient("resets_at_every_step", resets=40, initial=True, dfinal=True, length=40)
    gradient("large_steps", delta="uniform(-110.0, 110.0, 2)", bias=True, length=20)
    # A block of a GPU has all channels, and two groups of steps to a state kept.
    for length in (66, 99):
        gradient(f"one_block_{length}", channels=120, states=16, length=length, initial=True)
    gradient("one_block_bf16", channels=128, states=9, dtype="bf16", resets=3,
             **{**everything, "length": 71, "bias": False})


def both_table():
    # GPUs have chunks of 64 steps for up to 16 states and 64 channels, 32 for 64
    # states or more channels, 16 for 128, 8 for 256; other states are not read.
    for length in (63, 64, 65, 128, 129, 200):
        gradient(f"length_{length}", length=length, channels=24, states=16, chunk=0)
    everything = dict(skip=True, gate=True, bias=True, initial=True, dfinal=True,
                      length=150, channels=20)
    for dtype in ("f32", "bf16", "f16"):
        for reverse in (False, True):
            gradient(f"all_operands_{dtype}" + "_reverse" * reverse, dtype=dtype, resets=3,
                     reverse=reverse, states=16, chunk=0, **everything)
    gradient("groups", groups=2, c_groups=1, channels=48, length=140, states=5, chunk=0)
    gradient("states_32", states=32, length=70, channels=100, chunk=0, batch=1)
    for states, chunk in ((2, 64), (64, 32), (128, 16), (256, 8)):
        gradient(f"states_{states}_given", states=states, length=5 * chunk // 2, channels=20,
                 initial=True, resets=2, chunk=chunk, batch=1)
    for dtype, length, reverse in (("f32", 67, False), ("bf16", 97, True), ("f16", 94, False)):
        gradient(f"one_block_{dtype}", dtype=dtype, states=16, resets=3, reverse=reverse, chunk=0,
                 **{**everything, "length": length, "channels": 104})
    gradient("states_of_other_chunks", states=16, length=70, chunk=10)
    gradient("states_all_given", states=64, chunk=32, resets=3, reverse=True,
             **{**everything, "length": 80})


def gradient_chunks_table():
    # For three chunks of time on a GPU, multiples of 16 steps: of 96 steps all are
    # whole and segments start with them in the first sequence, of 101 the last has
    # 5, of 97 one. Walks in a chunk take 64 steps at once or fewer.
    everything = dict(skip=True, gate=True, bias=True, initial=True, dfinal=True, channels=20)
    for dtype in ("f32", "bf16", "f16"):
        for reverse in (False, True):
            gradient(f"all_operands_{dtype}" + "_reverse" * reverse, dtype=dtype, resets=3,
                     reverse=reverse, length=96, **everything)
    for length in (97, 101, 389):
        gradient(f"length_{length}", length=length, initial=True, dfinal=True, channels=7)
    gradient("prime_length_resets", length=101, resets=7, **everything)
    gradient("prime_length_resets_reverse", length=101, resets=7, reverse=True, **everything)
    gradient("resets_at_every_step", length=48, resets=48, initial=True, dfinal=True)
    gradient("no_states", length=96, resets=2)
    gradient("no_states_reverse", length=101, reverse=True, gate=True)
    gradient("initial_state_alone", batch=1, length=192, channels=70, initial=True)
    gradient("final_state_alone", length=101, dfinal=True, skip=True)
    gradient("no_softplus_bias", softplus=False, bias=True, skip=True, length=96)
    for states in (1, 3, 16, 64, 128, 256):
        gradient(f"states_{states}", states=states, length=101, channels=9, batch=1,
                 initial=True, dfinal=True)
    gradient("groups", groups=3, channels=111, length=48, initial=True)
    gradient("groups_of_b_and_c_differ", groups=6, c_groups=4, channels=24, length=53)
    gradient("delta_in_f32", dtype="bf16", delta_dtype="f32", gate=True, length=53)
    gradient("large_steps", delta="uniform(-110.0, 110.0, 2)", bias=True, length=48)


{"both": both_table, "gradient": gradient_table,
 "gradient-chunks": gradient_chunks_table, "linear-gradient": linear_gradient_table,
 "linear": linear_table, "selective": selective_table}[sys.argv[1]]()
part, parts = (int(n) for n in sys.argv[2].split("/")) if len(sys.argv) > 2 else (0, 1)
print("\n".join(rows[part::parts]))
