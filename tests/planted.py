#!/usr/bin/env python3
"""Plants faults in the reference and sees the tests go red.

    planted.py SOURCE CC [FLAG...]

Each fault is a change of the text of one file: of contract TC in ref/tc_bf16_k16_f25.c, which test_ref_tc_exact must
notice, or of what the vector paths rest on in ref/wgrad_vector.inc, which test_ref_wgrad_paths must notice: all of them
in the AVX2 path, in the AVX-512 path what its own operations decide. A fault whose text is not found, or that does not compile, is a failure of this test:
it would show nothing. FLAG: what the compiler needs for OpenMP.
Exit status: 0 every fault was seen, and the unchanged files pass; 77 (CTest: skipped) some could not be planted here.
"""
import os
import platform
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-std=gnu17", "-O2", "-w", "-ffp-contract=off", "-frounding-math", "-DTC_ONE_IN=20"]
PATHS = {"wgrad_varlen_k_avx2": ["-mavx2"], "wgrad_varlen_k_avx512": ["-mavx512f", "-mavx512bw"]}
NEEDS = {"wgrad_varlen_k_avx2": {"avx2"}, "wgrad_varlen_k_avx512": {"avx512f", "avx512bw"}}
REFERENCE = ["tc_bf16_k16_f25", "f32_round", "types", "wgrad_varlen_k", "wgrad_varlen_k_fast", *PATHS]

STEP = "uint32_t sb_tc_step(uint32_t c, const struct sb_tc_operands *a, const struct sb_tc_operands *b)"
CUT = "return (int32_t)(magnitude >> (distance < 31 ? distance : 31));"
ROUND = "(uint32_t)(excess >= 0 ? magnitude >> (excess < 63 ? excess : 63) : magnitude << -excess);"
REST = "(excess > 0 ? magnitude & ((UINT64_C(1) << (excess < 63 ? excess : 63)) - 1) : 0)"

# name: (old text, new text)
CONTRACT = {
    "24 bits": ("FRACTION_BITS = 25,", "FRACTION_BITS = 24,"),
    "26 bits": ("FRACTION_BITS = 25,", "FRACTION_BITS = 26,"),
    "no floor": ("LOWEST_E_MAX = -133,", "LOWEST_E_MAX = -10000,"),
    "floor -132": ("LOWEST_E_MAX = -133,", "LOWEST_E_MAX = -132,"),
    "floor -134": ("LOWEST_E_MAX = -133,", "LOWEST_E_MAX = -134,"),
    "zeros have an exponent": ("ZERO_EXPONENT = -1000,", "ZERO_EXPONENT = -126,"),
    "-0 is kept": ("return 0; /* +0, from a negative sum too */", "return sign;"),
    "terms to nearest": (CUT, "return distance <= 0 || distance > 30 ? (int32_t)(magnitude >> (distance < 31 ? distance : 31))"
                              " : (int32_t)((magnitude + (1u << (distance - 1))) >> distance);"),
    "sum to nearest": (ROUND, ROUND[:-1] + f" + ({REST} > (UINT64_C(1) << (excess > 0 && excess < 63 ? excess - 1 : 62)));"),
    "sum rounded down": (ROUND, ROUND[:-1] + f" + (sum < 0 && {REST} != 0);"),
    "another NaN": ("f32_nan = 0x7FFFFFFFu", "f32_nan = 0x7FC00000u"),
}

VECTOR = {
    "24 bits": ("(25u + 2 * BIAS)", "(24u + 2 * BIAS)"),
    "c does not count for e_max": ("return max_i32(exponent, and_i(as_i(c), set1_i32(0x7F800000)));",
                                   "(void)c; return exponent;"),
    "a: NaN not looked for": ("x->high[j] == 0x7F80 ? NOT_FINITE : x->high[j]", "x->high[j]"),
    "b: no highest exponent": ("    HIGHEST = 80,", "    HIGHEST = 400,"),
    "b: no lowest exponent": ("return chunk->a_low", "return true || chunk->a_low"),
    "b: the lowest not looked for": ("if (low)", "if (false)"),
    "wide: no floor": ("    FLOOR = -133,", "    FLOOR = -260,"),
    "wide: 24 bits": ("25 + BIAS + DOUBLE_BIAS", "24 + BIAS + DOUBLE_BIAS"),
    "wide: zeros of b count": ("replace_i16(b, ZERO / (1 << FIELD), NOWHERE)", "b"),
    "wide: a zero c counts": ("where_zero_i32(magnitude, set1_i32(NOWHERE), ", "where_zero_i32(magnitude, set1_i32(1), "),
    "wide: c is not looked at": ("where_finite_f(c, add_f(narrow(total[0], total[1]), set1_f(0)), c)",
                                 "add_f(narrow(total[0], total[1]), set1_f(0))"),
    "wide: overflow to the largest number": ("total[h] = infinite_from_d(sums, 0x1p128)", "total[h] = sums"),
    "wide: -0 is kept": ("add_f(narrow(total[0], total[1]), set1_f(0))", "narrow(total[0], total[1])"),
    "c: heavy rows": ("    HEAVY = 3984,", "    HEAVY = 3985,"),
    "d: sums not looked at": ("!sums_are_ordinary(sum, m, block)", "false"),
    "d: tiny sums": ("magnitude >= (uint32_t)(BIAS - 102) << 23", "magnitude >= (uint32_t)(BIAS - 103) << 23"),
    "d: infinite sums": (" && magnitude < 0x7F800000u", ""),
    "subnormals have another exponent": ("return field > 1 << FIELD ? field : 1 << FIELD;", "return field;"),
    "subnormals are zeros where the caller says so": ("_mm_setcsr(_MM_MASK_MASK |", "_mm_setcsr((before & 0x8040) | _MM_MASK_MASK |"),
    "d: a plain step is forgotten": ("chunk->unknown[m / ROWS][block] = !fast;", ""),
}

# What one path's own operations decide: the other path plants these alone.
OWN = ["24 bits", "b: the lowest not looked for", "c: heavy rows", "d: tiny sums", "wide: zeros of b count",
       "wide: c is not looked at", "wide: overflow to the largest number", "wide: -0 is kept"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


class Tree:
    """A copy of what is compiled, the objects that no fault changes, and two programs."""

    def __init__(self, source, folder, compiler, openmp):
        self.folder, self.compiler, self.openmp = folder, compiler, openmp
        shutil.copytree(os.path.join(source, "ref"), os.path.join(folder, "ref"))
        shutil.copytree(os.path.join(source, "tests"), os.path.join(folder, "tests"))
        self.libraries = subprocess.check_output(["pkg-config", "--cflags", "--libs", "check", "gmp"], text=True).split()
        for name in REFERENCE:
            self.compile(f"ref/{name}.c")
        for name in ("tc_exact", "test_ref_tc_exact", "test_ref_wgrad_paths"):
            self.compile(f"tests/{name}.c")

    def compile(self, path):
        name = os.path.basename(path)[:-2]
        flags = PATHS.get(name, []) if platform.machine() == "x86_64" else []
        done = run(self.compiler, *FLAGS, *self.openmp, *flags, "-c", os.path.join(self.folder, path), "-o",
                   self.object(name))
        if done.returncode != 0:
            sys.exit(f"planted.py: {path} does not compile:\n{done.stderr}")

    def object(self, name):
        return os.path.join(self.folder, name + ".o")

    def passes(self, test, *more):
        program = os.path.join(self.folder, test)
        done = run(self.compiler, *self.openmp, *map(self.object, [*REFERENCE, test, *more]), "-o", program,
                   *self.libraries)
        if done.returncode != 0:
            sys.exit(f"planted.py: {test} does not link:\n{done.stderr}")
        return run(program).returncode == 0

    def plant(self, path, recompiled, old, new):
        """The original text, after compiling with the fault in it."""
        with open(os.path.join(self.folder, path)) as f:
            text = f.read()
        if text.count(old) != 1:
            sys.exit(f"planted.py: {path}: expected once, found {text.count(old)} times: {old}")
        self.write(path, recompiled, text.replace(old, new))
        return text

    def write(self, path, recompiled, text):
        with open(os.path.join(self.folder, path), "w") as f:
            f.write(text)
        self.compile(recompiled)


def see(tree, path, recompiled, faults, test, *more):
    """How many of the faults went unseen."""
    unseen = 0
    if not tree.passes(test, *more):
        sys.exit(f"planted.py: {test} fails without any fault")
    for name, (old, new) in faults.items():
        text = tree.plant(path, recompiled, old, new)
        red = not tree.passes(test, *more)
        tree.write(path, recompiled, text)
        unseen += not red
        print(f"{'seen' if red else 'NOT SEEN'}: {recompiled}: {name}", flush=True)
    return unseen


def split_in_eights(tree):
    """Contract TC in two steps of eight: more than one place changes."""
    path = "ref/tc_bf16_k16_f25.c"
    with open(os.path.join(tree.folder, path)) as f:
        text = f.read()
    head, body = text.split(STEP)
    body, tail = body.split("\n}\n", 1)
    part = STEP.replace("sb_tc_step", "part").replace("*b)", "*b, int first)")
    body = body.replace("i = 0; i < SB_TC_K", "i = first; i < first + 8")
    changed = (f"{head}static {part}{body}\n}}\n\n{STEP}\n{{\n    return part(part(c, a, b, 0), a, b, 8);\n}}\n{tail}")
    tree.write(path, path, changed)
    red = not tree.passes("test_ref_tc_exact", "tc_exact")
    tree.write(path, path, text)
    print(f"{'seen' if red else 'NOT SEEN'}: {path}: two sums of eight", flush=True)
    return not red


def processor_has(needs):
    try:
        with open("/proc/cpuinfo") as f:
            return needs <= set(next((line for line in f if line.startswith("flags")), "").split())
    except OSError:
        return False


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source, compiler, *openmp = sys.argv[1:]
    if run("pkg-config", "--exists", "check", "gmp").returncode != 0:
        print("skipped: Check or GMP is not installed")
        return 77
    os.environ["CK_DEFAULT_TIMEOUT"] = "600"
    unseen, left_out = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(source, folder, compiler, openmp)
        unseen += see(tree, "ref/tc_bf16_k16_f25.c", "ref/tc_bf16_k16_f25.c", CONTRACT, "test_ref_tc_exact", "tc_exact")
        unseen += split_in_eights(tree)
        for name, faults in zip(PATHS, (VECTOR, {fault: VECTOR[fault] for fault in OWN})):
            if processor_has(NEEDS[name]):
                unseen += see(tree, "ref/wgrad_vector.inc", f"ref/{name}.c", faults, "test_ref_wgrad_paths")
            else:
                print(f"not planted: the faults of ref/{name}.c, which this processor does not run")
                left_out += 1
    return 1 if unseen else 77 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
