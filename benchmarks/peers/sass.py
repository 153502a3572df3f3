"""Reads machine code of NVIDIA GPUs: loops, products, registers.

`kernel(cubin)` disassembles a cubin that holds one kernel with nvdisasm and
returns what can be counted without running it.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig


def find_nvdisasm():
    """On PATH, in the CUDA toolkit, or in the wheels of this environment."""
    places = [shutil.which("nvdisasm")]
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root:
            places.append(os.path.join(root, "bin", "nvdisasm"))
    site = sysconfig.get_paths()["purelib"]
    for pattern in ("triton/backends/nvidia/bin/nvdisasm",
                    "nvidia/*/bin/nvdisasm"):
        places += sorted(glob.glob(os.path.join(site, pattern)))
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    sys.exit("expected nvdisasm on PATH, in CUDA_HOME or of Triton's wheel, "
             "found none; run benchmarks/peers/setup.sh")


def opcode(text):
    """The instruction without its guard: "@!P0 BRA `(.L)" is "BRA"."""
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]


def products(text):
    """Products of 16x8x16 that a warp does by this instruction.

    HGMMA.64xNx16 is issued by the four warps of a warpgroup, so that each of
    them does 16 rows of it: N / 8 of the smaller products.
    """
    code = opcode(text)
    if code.startswith("HMMA.16816"):
        return 1.0
    if code.startswith("HMMA.1688"):
        return 0.5
    group = re.match(r"HGMMA\.64x(\d+)x16", code)
    return int(group.group(1)) / 8 if group else 0.0


def parse(text):
    """(instructions, position of each label) of nvdisasm's output."""
    instructions, labels = [], {}
    for line in text.splitlines():
        label = re.match(r"\s*(\.L_\w+):", line)
        if label:
            labels[label.group(1)] = len(instructions)
            continue
        code = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line)
        if code:
            instructions.append(code.group(1).strip())
    return instructions, labels


def loops(instructions, labels):
    """Innermost loops that hold products, as lists of instructions. A loop goes
    from a label to the last branch back to it."""
    spans = {}
    for at, text in enumerate(instructions):
        target = re.search(r"`?\(?(\.L_\w+)", text)
        if not opcode(text).startswith("BRA") or not target:
            continue
        begin = labels.get(target.group(1), at + 1)
        if begin <= at:
            spans[begin] = max(spans.get(begin, 0), at)
    bodies = {
        (begin, end): [text for text in instructions[begin:end + 1]
                       if opcode(text) != "NOP"]
        for begin, end in spans.items()
    }
    bodies = {span: body for span, body in bodies.items()
              if any(map(products, body))}
    return [
        body for (begin, end), body in sorted(bodies.items())
        if not any(begin <= b and e <= end and (b, e) != (begin, end)
                   for b, e in bodies)
    ]


def kernel(cubin, wanted=None):
    """Registers, spills, and the main loop: the one with the fewest other
    instructions to a product, which is the loop over whole tiles where a second
    one masks. `wanted` is how many products of a round the task asks for; more of
    them, such as those that sum weights, count as other instructions."""
    disassembler = find_nvdisasm()
    with_header = subprocess.run([disassembler, cubin], capture_output=True,
                                 text=True, check=True).stdout
    instructions, labels = parse(
        subprocess.run([disassembler, "-c", cubin], capture_output=True,
                       text=True, check=True).stdout)
    registers = re.findall(r"SHI_REGISTERS=(\d+)", with_header)
    if not registers:  # files of newer assemblers
        registers = [int(word, 16) for word in re.findall(
            r"EIATTR_REGCOUNT(?:(?!EIATTR).)*?index@[^\n]*\n[^\n]*\.word\s+"
            r"(0x[0-9a-f]+)", with_header, re.DOTALL)]
    if len(registers) != 1:
        raise ValueError("expected one kernel in %s, found %d"
                         % (cubin, len(registers)))
    result = {
        "registers": int(registers[0]),
        "spill_instructions": sum(
            opcode(text).split(".")[0] in ("LDL", "STL")
            for text in instructions),
        "loops": [],
    }
    for body in loops(instructions, labels):
        done = sum(map(products, body))
        others = [text for text in body if not products(text)]
        extra = max(0, done - wanted) if wanted else 0
        kinds = {}
        for text in others:
            kind = opcode(text).split(".")[0]
            kinds[kind] = kinds.get(kind, 0) + 1
        result["loops"].append({
            "products": done - extra,
            "other_products": extra,
            "other_instructions": len(others) + extra,
            "per_product": (len(others) + extra) / (done - extra),
            "kinds": dict(sorted(kinds.items(), key=lambda k: -k[1])),
        })
    if not result["loops"]:
        raise ValueError("expected a loop with products in %s" % cubin)
    result["main"] = min(result["loops"], key=lambda l: l["per_product"])
    return result
