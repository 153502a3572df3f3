"""Runs heddle-compile and heddle-run on bad input.

Each case has to end with exit status 1 and exactly one error on standard error
that says what was wrong, without a crash and without leaving a file behind.

usage: bad_input.py BIN_DIR WORK_DIR
"""

import os
import re
import struct
import subprocess
import sys

bin_dir, work_dir = sys.argv[1:3]
COMPILE = os.path.join(bin_dir, "heddle-compile")
RUN = os.path.join(bin_dir, "heddle-run")


def attention(query="1x8x2x4xf32", key="1x8x2x4xf32", out=None, attrs=""):
    """One attention op on tensors of the given types."""
    out = out or query
    return (f"func.func @f(%q: tensor<{query}>, %k: tensor<{key}>) "
            f"-> tensor<{out}> {{\n"
            f"  %0 = heddle.attention %q, %k, %k {attrs} : tensor<{query}>, "
            f"tensor<{key}>, tensor<{key}> -> tensor<{out}>\n"
            f"  return %0 : tensor<{out}>\n}}\n")


def elementwise(shape, element="f32"):
    """x + x on a matrix."""
    t = f"tensor<{shape}x{element}>"
    return (f"func.func @f(%x: {t}) -> {t} {{\n"
            f"  %0 = arith.addf %x, %x : {t}\n"
            f"  return %0 : {t}\n}}\n")


# A product whose middle dimension needs 4 TiB between small ends.
HUGE_TEMPORARY = """
func.func @f(%x: tensor<1048576x1xf32>, %w: tensor<1x1048576xf32>)
    -> (tensor<1048576xf32>, tensor<1048576xf32>) {
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<1048576x1048576xf32>
  %e1 = tensor.empty() : tensor<1048576xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1048576xf32>) -> tensor<1048576xf32>
  %h = linalg.matmul ins(%x, %w : tensor<1048576x1xf32>, tensor<1x1048576xf32>) outs(%z2 : tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32>
  %rows = linalg.reduce { arith.addf } ins(%h : tensor<1048576x1048576xf32>) outs(%z1 : tensor<1048576xf32>) dimensions = [1]
  %cols = linalg.reduce { arith.addf } ins(%h : tensor<1048576x1048576xf32>) outs(%z1 : tensor<1048576xf32>) dimensions = [0]
  return %rows, %cols : tensor<1048576xf32>, tensor<1048576xf32>
}
"""

UNSUPPORTED = """
func.func @f(%x: tensor<4xf32>, %flag: tensor<i1>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  }
  %c = tensor.extract %flag[] : tensor<i1>
  %1 = scf.if %c -> (tensor<4xf32>) {
    scf.yield %0 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
"""

TWO_FUNCTIONS = (elementwise("4x4").replace("@f", "@first") +
                 elementwise("4x4").replace("@f", "@second"))


def npy(descr, shape, data, order=False):
    """A .npy file of format version 1."""
    header = (f"{{'descr': '{descr}', 'fortran_order': {order}, "
              f"'shape': ({', '.join(map(str, shape))},), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
            header.encode() + data)


def path(name):
    return os.path.join(work_dir, name)


def write(name, content):
    mode = "wb" if isinstance(content, bytes) else "w"
    with open(path(name), mode) as file:
        file.write(content)
    return path(name)


failures = []
count = 0


def check(name, command, pattern, stdin=""):
    """One bad input: `pattern` is what the error has to say."""
    global count
    count += 1
    before = sorted(os.listdir(work_dir))
    result = subprocess.run(command, input=stdin, capture_output=True,
                            text=True, timeout=300)
    problems = []
    if result.returncode != 1:
        problems.append(f"exit status {result.returncode} instead of 1")
    errors = re.findall(r"\berror: ", result.stderr)
    if len(errors) != 1:
        problems.append(f"{len(errors)} errors instead of 1")
    if not re.search(pattern, result.stderr, re.S):
        problems.append(f"the error does not say /{pattern}/")
    if re.search(r"Stack dump|LLVM ERROR|terminate called|Assertion", result.stderr):
        problems.append("it crashed")
    after = sorted(os.listdir(work_dir))
    if after != before:
        problems.append(f"it left {sorted(set(after) - set(before))} behind")
    if problems:
        failures.append(name)
        print(f"{name}: {'; '.join(problems)}\n  {' '.join(command)}\n"
              f"  {result.stderr.strip()[:2000]}")


def check_model(name, text, pattern, *arguments):
    model = write("model.mlir", text)
    check(name, [COMPILE, model, "-o", path("out.heddle"), *arguments], pattern)


# Models.
good = elementwise("4x6")
check_model("syntax error", "func.func @f(", "expected")
check_model("unknown op", "func.func @f() {\n  heddle.nonsense\n  return\n}\n",
            "heddle.nonsense")
check_model("empty module", "module {}\n", "found none")
check_model("only a declaration",
            "func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n", "found none")
check_model("dynamic shape", attention(query="1x?x2x4xf32"), r"static|dynamic")
check_model("wrong rank", attention(query="8x2x4xf32"), "rank|axes")
check_model("mismatched heads", attention(query="1x8x3x4xf32"), "heads")
check_model("mismatched head_dim", attention(query="1x8x2x5xf32", out="1x8x2x4xf32"),
            "d_qk=5")
check_model("result of another shape", attention(out="1x8x2x5xf32"), "result|out")
check_model("mixed element types", attention(query="1x8x2x4xbf16"), "bf16")
check_model("bare causal on unequal lengths",
            attention(query="1x4x2x4xf32",
                      attrs="{mask = #heddle.mask<causal>}"), "causal")
check_model("unknown mask term",
            attention(attrs="{mask = #heddle.mask<diagonal>}"), "mask term")
check_model("all unsupported ops at once", UNSUPPORTED, r"scf\.for.*scf\.if")
check_model("unsupported element type", elementwise("4x4", "f80"), "f80")

# Options of heddle-compile.
check_model("unknown entry", good, "nosuch.*f|f.*nosuch", "--entry=nosuch")
check_model("unknown stage", good, "model, differentiate, fuse, plan", "--compile-to=link")
check_model("unknown emit", good, "bundle, mlir, llvm, asm, ptx or cubin", "--emit=exe")
check_model("unknown cpu", good, "x86-64-v3 or x86-64-v4", "--cpu=z80")
check_model("unknown target", good, "--target to be cpu", "--target=tpu")
check_model("unknown report", good, "text or --report=json", "--report=xml")
check_model("unknown option", good, "--frobnicate", "--frobnicate")
check_model("no threads", good, "--threads", "--threads=0")
check_model("bundle of a partial compilation", good, "--emit=mlir",
            "--emit=bundle", "--compile-to=fuse")
model = write("model.mlir", good)
check("no output", [COMPILE, model], "-o MODEL.heddle")
check("no model", [COMPILE], "expected a model")
check("missing model", [COMPILE, path("nosuch.mlir"), "-o", path("x")], "nosuch.mlir")
check("unwritable output", [COMPILE, model, "-o", path("no/such/x")], "cannot write")
check("output is a folder", [COMPILE, model, "-o", work_dir], "cannot write")
check("report and bundle on standard output",
      [COMPILE, model, "-o", "-", "--report"], "one use of standard output")

# Bundles.
bundle = path("good.heddle")
subprocess.run([COMPILE, model, "-o", bundle], check=True)
with open(bundle, "rb") as file:
    content = file.read()
check("truncated bundle", [RUN, write("cut.heddle", content[:-40])], "bundle")
check("nearly empty bundle", [RUN, write("cut.heddle", content[:10])], "bundle")
check("empty bundle", [RUN, write("cut.heddle", b"")], "bundle")
middle = len(content) // 2
flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]
check("altered bundle", [RUN, write("flip.heddle", flipped)], "bundle")
check("foreign bundle", [RUN, write("foreign.heddle", b"\x7fELF" + bytes(500))],
      "expected a heddle bundle")
newer = content[:8] + struct.pack("<I", 999) + content[12:]
check("bundle of a newer version", [RUN, write("newer.heddle", newer)], "999")
check("missing bundle", [RUN, path("nosuch.heddle")], "nosuch.heddle")
check("bundle is a folder", [RUN, work_dir], "cannot read")

# Inputs, outputs and options of heddle-run.
floats = struct.pack("<24f", *range(24))


def check_input(name, content, pattern):
    check(name, [RUN, bundle, "--input=@" + write("in.npy", content)], pattern)


check_input("npy of another shape", npy("<f4", (6, 4), floats),
            r"float32\[4,6\], got float32\[6,4\]")
check_input("npy of another rank", npy("<f4", (24,), floats), r"float32\[24\]")
check_input("npy of another type", npy("<i4", (4, 6), floats), "int32")
check_input("npy of an unknown type", npy("<c8", (4, 6), floats * 2), "c8")
check_input("big-endian npy", npy(">f4", (4, 6), floats), "little-endian")
check_input("truncated npy", npy("<f4", (4, 6), floats[:-1]), "truncated")
check_input("not an npy", b"hello", "npy")
check("missing npy", [RUN, bundle, "--input=@" + path("nosuch.npy")], "nosuch.npy")
right = "--input=@" + write("right.npy", npy("<f4", (4, 6), floats))
check("too many inputs", [RUN, bundle, right, right], "at most 1 input")
check("two values for one argument", [RUN, bundle, right, "--input=arg0=random:1"],
      "one --input per argument")
check("unknown argument", [RUN, bundle, "--input=nosuch=random:1"], "nosuch")
check("malformed input", [RUN, bundle, "--input=random:x"], "random:SEED")
check("malformed output", [RUN, bundle, "--output=x.npy"], "@FILE.npy")
check("unwritable result", [RUN, bundle, "--output=@" + path("no/such/x.npy")],
      "cannot write")
check("too many outputs", [RUN, bundle, "--output=@a.npy", "--output=@b.npy"],
      "at most 1 --output")
check("expected output of another shape",
      [RUN, bundle, "--expected-output=@" +
       write("other.npy", npy("<f4", (24,), floats))], r"float32\[24\]")
check("unknown device", [RUN, bundle, "--device=abacus"], "cpu, cuda, cuda:N, emulator or reference")
check("bundle of another device", [RUN, bundle, "--device=cuda"],
      "compiled for target 'cpu', this device is 'cuda'")
check("unknown function", [RUN, bundle, "--function=nosuch"], "nosuch")
check("unknown check", [RUN, bundle, "--check=twice"], "--check to be reference")
check("negative repeats", [RUN, bundle, "--repeats=-1"], "at least 0")
check("negative tolerance", [RUN, bundle, "--rtol=-1"], "--rtol")
check("option without a number", [RUN, bundle, "--repeats=many"], "many")
check("unknown option of heddle-run", [RUN, bundle, "--frobnicate"], "frobnicate")
check("no bundle", [RUN], "expected a model")
check("two functions and no choice", [RUN, write("two.mlir", TWO_FUNCTIONS)],
      "first, second.*--function")
check("graph that does not parse", [RUN, write("broken.mlir", "func.func @f(")],
      "broken.mlir:1")
check("graph that does not parse, reference",
      [RUN, path("broken.mlir"), "--device=reference"], "broken.mlir:1")
check("dynamic shape on the reference device",
      [RUN, write("dynamic.mlir", attention(query="1x?x2x4xf32")),
       "--device=reference"], r"static|dynamic")

# Memory: the machine is asked before anything is allocated.
check("arguments that do not fit",
      [RUN, write("wide.mlir", elementwise("1048576x1048576"))], "MiB")
check("a plan that does not fit", [RUN, write("deep.mlir", HUGE_TEMPORARY)], "MiB")

if failures:
    print(f"{len(failures)} of {count} bad inputs failed: {', '.join(failures)}")
    sys.exit(1)
print(f"{count} bad inputs, each refused with one error")
