"""A small writer of model functions for the tables of this folder."""

UNARY = {"gelu_tanh": """    %a = arith.constant 0.044715 : f32
    %b = arith.constant 0.7978845608 : f32
    %h = arith.constant 0.5 : f32
    %o = arith.constant 1.0 : f32
    %x2 = arith.mulf %x, %x : f32
    %x3 = arith.mulf %x2, %x : f32
    %p = arith.mulf %x3, %a : f32
    %q = arith.addf %x, %p : f32
    %r = arith.mulf %q, %b : f32
    %t = math.tanh %r : f32
    %u = arith.addf %t, %o : f32
    %v = arith.mulf %u, %h : f32
    %y = arith.mulf %v, %x : f32
""", "gelu_erf": """    %s = arith.constant 0.70710678 : f32
    %h = arith.constant 0.5 : f32
    %o = arith.constant 1.0 : f32
    %r = arith.mulf %x, %s : f32
    %t = math.erf %r : f32
    %u = arith.addf %t, %o : f32
    %v = arith.mulf %u, %h : f32
    %y = arith.mulf %v, %x : f32
""", "silu": """    %o = arith.constant 1.0 : f32
    %n = arith.negf %x : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %o : f32
    %y = arith.divf %x, %d : f32
""", "relu": """    %z = arith.constant 0.0 : f32
    %y = arith.maximumf %x, %z : f32
""", "exp": "    %y = math.exp %x : f32\n",
    "square": "    %y = arith.mulf %x, %x : f32\n",
    "reciprocal": "    %o = arith.constant 1.0 : f32\n    %y = arith.divf %o, %x : f32\n",
    "log": "    %y = math.log %x : f32\n"}
SUM = "    %y = arith.addf %x0, %x : f32\n"
MAX = "    %y = arith.maximumf %x0, %x : f32\n"


def tensor(shape, element="f32"):
    return "tensor<" + "".join(f"{d}x" for d in shape) + element + ">"


class Value:
    def __init__(self, name, shape, element):
        self.name, self.shape, self.element = name, tuple(shape), element

    @property
    def type(self):
        return tensor(self.shape, self.element)


class Function:
    """Collects ops; `write` prints the function that returns the given values."""

    def __init__(self, name):
        self.name, self.lines, self.arguments, self.notes = name, [], [], []
        self.count = 0

    def fresh(self, shape, element):
        self.count += 1
        return Value(f"%v{self.count}", shape, element)

    def argument(self, shape, element="f32", values=None):
        v = Value(f"%arg{len(self.arguments)}", shape, element)
        if values:
            self.notes.append(f"// INPUT {len(self.arguments)}: {values}")
        self.arguments.append(v)
        return v

    def emit(self, shape, element, text):
        v = self.fresh(shape, element)
        self.lines.append(f"  {v.name} = " + text.replace("RESULT", v.type))
        return v

    def constant(self, shape, value, element="f32"):
        return self.emit(shape, element, f"arith.constant dense<{value}> : RESULT")

    def filled(self, shape, value, element="f32"):
        e = self.emit(shape, element, "tensor.empty() : RESULT")
        c = self.fresh((), element)
        typed = value if element == "i1" else f"{value} : {element}"
        self.lines.append(f"  {c.name} = arith.constant {typed}")
        return self.emit(shape, element,
                         f"linalg.fill ins({c.name} : {element}) outs({e.name} : {e.type}) -> RESULT")

    def generic(self, dims, inputs, maps, out_shape, out_map, body, element="f32",
                reductions="", init=None, scalars=None):
        """Maps are strings of loop letters; `body` computes %y from the inputs
        %x (%x1, ...) and the accumulator %x0."""
        if init is None:
            init = self.emit(out_shape, element, "tensor.empty() : RESULT")
        names = ["%x"] + [f"%x{i}" for i in range(1, len(inputs))]
        def affine(m):
            return f"affine_map<({', '.join(dims)}) -> ({', '.join(m)})>"
        kinds = ", ".join('"reduction"' if d in reductions else '"parallel"' for d in dims)
        block = ", ".join([f"{n}: {v.element}" for n, v in zip(names, inputs)] + [f"%x0: {element}"])
        given = ""
        if inputs:
            given = f" ins({', '.join(v.name for v in inputs)} : {', '.join(v.type for v in inputs)})"
        v = self.fresh(out_shape, element)
        self.lines.append(
            f"  {v.name} = linalg.generic {{indexing_maps = "
            f"[{', '.join(affine(m) for m in maps + [out_map])}], iterator_types = [{kinds}]}}"
            f"{given} outs({init.name} : {init.type}) {{\n  ^bb0({block}):\n{body}"
            f"    linalg.yield %y : {element}\n  }} -> {v.type}")
        return v

    def contract(self, a, a_map, b, b_map, out_map, accumulator="f32", init=None):
        """out[out_map] += a[a_map] * b[b_map], summed over the other letters."""
        size = {}
        for v, m in ((a, a_map), (b, b_map)):
            size.update(zip(m, v.shape))
        dims = "".join(dict.fromkeys(out_map + a_map + b_map))
        shape = [size[c] for c in out_map]
        body, left, right = "", "%x", "%x1"
        if a.element != accumulator:
            body, left = body + f"    %l = arith.extf %x : {a.element} to {accumulator}\n", "%l"
        if b.element != accumulator:
            body, right = body + f"    %r = arith.extf %x1 : {b.element} to {accumulator}\n", "%r"
        body += (f"    %p = arith.mulf {left}, {right} : {accumulator}\n"
                 f"    %y = arith.addf %x0, %p : {accumulator}\n")
        return self.generic(dims, [a, b], [a_map, b_map], shape, out_map, body, accumulator,
                            "".join(c for c in dims if c not in out_map),
                            init or self.filled(shape, 0.0, accumulator))

    def letters(self, v):
        return "abcdefgh"[:len(v.shape)]

    def unary(self, name, v):
        m = self.letters(v)
        return self.generic(m, [v], [m], v.shape, m, UNARY[name])

    def binary(self, op, a, b, b_map=None):
        m = self.letters(a)
        return self.generic(m, [a, b], [m, m if b_map is None else b_map], a.shape, m,
                            f"    %y = arith.{op} %x, %x1 : {a.element}\n", a.element)

    def cast(self, v, element):
        m = self.letters(v)
        op = "truncf" if element in ("bf16", "f16") else "extf"
        return self.generic(m, [v], [m], v.shape, m,
                            f"    %y = arith.{op} %x : {v.element} to {element}\n", element)

    def reduce(self, v, axis, body=SUM, start=0.0, element="f32"):
        m = self.letters(v)
        keep = m[:axis] + m[axis + 1:]
        shape = v.shape[:axis] + v.shape[axis + 1:]
        return self.generic(m, [v], [m], shape, keep, body, element, m[axis],
                            self.filled(shape, start, element))

    def scaled(self, v, factor):
        m = self.letters(v)
        return self.generic(m, [v], [m], v.shape, m,
                            f"    %c = arith.constant {factor!r} : f32\n    %y = arith.mulf %x, %c : f32\n")

    def layer_norm(self, v, gain, shift, axis=-1):
        """Over one axis: two reductions, then the normalised and scaled value."""
        axis %= len(v.shape)
        m = self.letters(v)
        rest = m[:axis] + m[axis + 1:]
        n = float(v.shape[axis])
        mean = self.scaled(self.reduce(v, axis), 1.0 / n)
        centred = self.generic(m, [v, mean], [m, rest], v.shape, m,
                               "    %y = arith.subf %x, %x1 : f32\n")
        var = self.scaled(self.reduce(self.unary("square", centred), axis), 1.0 / n)
        return self.generic(m, [centred, var, gain, shift], [m, rest, m[axis], m[axis]], v.shape, m,
                            "    %e = arith.constant 1.0e-06 : f32\n    %s = arith.addf %x1, %e : f32\n"
                            "    %r = math.rsqrt %s : f32\n    %t = arith.mulf %x, %r : f32\n"
                            "    %g = arith.mulf %t, %x2 : f32\n    %y = arith.addf %g, %x3 : f32\n")

    def softmax(self, v, axis=-1):
        axis %= len(v.shape)
        m = self.letters(v)
        rest = m[:axis] + m[axis + 1:]
        top = self.reduce(v, axis, MAX, "0xFF800000")
        e = self.generic(m, [v, top], [m, rest], v.shape, m,
                         "    %d = arith.subf %x, %x1 : f32\n    %y = math.exp %d : f32\n")
        total = self.reduce(e, axis)
        return self.generic(m, [e, total], [m, rest], v.shape, m, "    %y = arith.divf %x, %x1 : f32\n")

    def write(self, *results):
        for note in self.notes:
            print(note)
        arguments = ", ".join(f"{a.name}: {a.type}" for a in self.arguments)
        types = ", ".join(r.type for r in results)
        print(f"func.func @{self.name}({arguments}) -> ({types}) {{")
        print("\n".join(self.lines))
        print(f"  return {', '.join(r.name for r in results)} : {types}\n}}\n")
