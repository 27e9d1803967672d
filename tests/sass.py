#!/usr/bin/env python3
"""Reads the machine code of every kernel in the built library, of GPUs too that nobody here has.

    sass.py LIBRARY images:IMAGES [FOLDER]   libsamebits_gpu.a, and the images it was built for, "sm_90a,sm_100f"
    sass.py --self-test CC                   plants faults in what the tools print, and sees each of them

Held, for each image: every member has it; no kernel spills registers or keeps a stack; registers and shared memory are
within the GPU's limits; a kernel holds the matrix instruction that it is written around, and no other, where the table
below says so; vector stores where the kernel's own file says so. A kernel that multiplies matrices and that the table
does not know is a failure, and so is a row whose kernel is gone from its object.

Needs cuobjdump and nvdisasm: in PATH, /usr/local/cuda/bin, FOLDER, or python's nvidia packages.
Exit status: 0 all held; 1 not; 77 (CTest: skipped) without the tools, or without an image.
"""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import site
import struct
import subprocess
import sys
import tempfile

# member: an object of the library; kernel: its name; images: a pattern of those that have its body; needs: a pattern
# of an instruction that must be there; matrix: a pattern of the only matrix instructions that may.
Row = collections.namedtuple("Row", "member kernel images needs matrix", defaults=("^$",))

MMA_SYNC = r"^HMMA\.16816\.F32\.BF16$"
WGMMA = r"^HGMMA\.64x256x16\.F32\.BF16$"
TCGEN05 = r"^UTCHMMA(\.2CTA)?$"
STORE_16 = r"^STG\.E\.(\w+\.)?128$"
ANY, SM_90_ON, SM_90A, SM_100 = r"^sm_", r"^sm_(9|1[0-9])[0-9]", r"^sm_90a$", r"^sm_10[03][af]$"

TABLE = (
    Row("wgrad_varlen_k_mma_sync", "wgrad_mma_sync", SM_90_ON, MMA_SYNC, MMA_SYNC),
    Row("wgrad_varlen_k_wgmma", "wgrad_wgmma", SM_90A, WGMMA, WGMMA),
    Row("wgrad_varlen_k_tcgen05", "wgrad_tcgen05", SM_100, TCGEN05, TCGEN05),
    Row("wgrad_varlen_k_judge", "wgrad_judge", ANY, r"^FMUL"),
    Row("tc_probe_mma_sync", "tc_probe_mma_sync", ANY, MMA_SYNC, MMA_SYNC),
    Row("tc_probe_wgmma", "tc_probe_wgmma", SM_90A, WGMMA, WGMMA),
    Row("tc_probe_tcgen05", "tc_probe_tcgen05", SM_100, TCGEN05, TCGEN05),
    Row("peak", "peak_mma_sync", ANY, MMA_SYNC, MMA_SYNC),
    Row("peak", "peak_wgmma", SM_90A, WGMMA, WGMMA),
    Row("e8m0_upcast", "e8m0_upcast<f32>", ANY, STORE_16),
    Row("e8m0_upcast", "e8m0_widen", ANY, STORE_16),
    Row("e8m0_upcast", "e8m0_shift_widened<f32>", ANY, STORE_16),
    Row("scale_pack", "scale_pack_gather", ANY, STORE_16),
    Row("scale_pack", "scale_pack_tile", ANY, STORE_16),
    Row("scale_pack", "scale_pack_fill_last_row_tile", ANY, STORE_16),
)
MATRIX = re.compile(r"^[A-Z]*MMA(\.|$)")
LOCAL_MEMORY = re.compile(r"^(LDL|STL)(\.|$)")

# Bytes that one block can have, by the number of the image; the multiprocessor's own 1 KB, from sm_90 on, not counted.
KIB = 1024
SHARED_LIMIT = {80: 163 * KIB, 86: 99 * KIB, 87: 163 * KIB, 89: 99 * KIB, 90: 227 * KIB, 100: 227 * KIB,
                103: 227 * KIB, 110: 227 * KIB, 120: 99 * KIB, 121: 99 * KIB}
RESERVED = 1 * KIB
MOST_REGISTERS = 255
DYNAMIC = "sb_dynamic_shared_bytes_"  # + the kernel's name: a constant of its object


class Kernel:
    def __init__(self, member, image, symbol):
        self.member, self.image, self.symbol = member, image, symbol
        self.registers = self.stack = self.local = self.shared = None
        self.instructions = collections.Counter()  # names with modifiers
        self.dynamic = 0

    def name(self):
        """Of wgrad_wgmma from _Z11wgrad_wgmmaILb0E...; <f32> or <bf16> behind it where u32 or u16 is the parameter."""
        match = re.match(r"_Z(?:L)?(\d+)", self.symbol)
        if not match:
            return self.symbol
        end = match.end() + int(match[1])
        kind = {"Ij": "<f32>", "It": "<bf16>"}.get(self.symbol[end:end + 2], "")
        return self.symbol[match.end():end] + kind

    def base(self):
        return self.name().split("<")[0]

    def text(self):
        return f"{self.member} {self.image} {self.symbol}"


# ---- What the tools print --------------------------------------------------------------------------------------------


def read_resources(text, member):
    """Kernels by (image, symbol) from `cuobjdump -res-usage` of one object, and the images that it holds."""
    kernels, images, image, kernel = {}, set(), None, None
    code = False
    for line in text.splitlines():
        if line.startswith("Fatbin "):
            code = line.startswith("Fatbin elf code")
        elif line.startswith("arch = ") and code:
            image = line.split()[-1]
            images.add(image)
        elif line.startswith(" Function ") and code:
            kernel = Kernel(member, image, line.split()[1].rstrip(":"))
            kernels[image, kernel.symbol] = kernel
        elif line.startswith("  REG:") and kernel:
            figures = dict(field.split(":") for field in line.split() if field.count(":") == 1)
            kernel.registers, kernel.stack = int(figures["REG"]), int(figures["STACK"])
            kernel.local, kernel.shared = int(figures["LOCAL"]), int(figures["SHARED"])
            kernel = None
    return kernels, images


INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.x]*)")


def read_machine_code(text, kernels):
    """Adds the instructions that `cuobjdump -sass` of the same object shows."""
    image, kernel, code = None, None, False
    for line in text.splitlines():
        if line.startswith("Fatbin "):
            code, kernel = line.startswith("Fatbin elf code"), None
        elif line.startswith("arch = ") and code:
            image = line.split()[-1]
        elif line.startswith("\t\tFunction : "):
            kernel = kernels.get((image, line.split()[-1]))
        elif kernel:
            match = INSTRUCTION.match(line)
            if match:
                kernel.instructions[match[1]] += 1


def constants_of(path):
    """{name: value} of the object's sb_dynamic_shared_bytes_*: 64-bit ELF, little-endian, 4 or 8 bytes each."""
    with open(path, "rb") as f:
        elf = f.read()
    at, = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]
    found = {}
    for section in sections:
        if section[1] != 2:  # a table of symbols
            continue
        names = sections[section[6]][4]
        for entry in range(section[4], section[4] + section[5], 24):
            name_at, _, _, index, value, length = struct.unpack_from("<IBBHQQ", elf, entry)
            name = elf[names + name_at:elf.index(b"\0", names + name_at)].decode()
            if name.startswith(DYNAMIC) and 0 < index < count:
                place = sections[index][4] + value
                found[name[len(DYNAMIC):]] = int.from_bytes(elf[place:place + length], "little")
    return found


# ---- What is held ----------------------------------------------------------------------------------------------------


def limits_broken(kernel):
    number = int(re.match(r"sm_(\d+)", kernel.image)[1])
    if kernel.registers is None or not kernel.instructions:
        return ["its registers or its machine code were not read"]
    wrong = []
    if any(LOCAL_MEMORY.match(name) for name in kernel.instructions):
        wrong.append("loads or stores local memory")
    if kernel.stack or kernel.local:
        wrong.append(f"keeps {kernel.stack + kernel.local} bytes a thread in local memory: registers were spilled")
    if kernel.registers > MOST_REGISTERS:
        wrong.append(f"takes {kernel.registers} registers, a thread has {MOST_REGISTERS}")
    if number not in SHARED_LIMIT:
        return wrong + ["sass.py knows no limit of shared memory for this image"]
    limit, taken = SHARED_LIMIT[number], kernel.shared + kernel.dynamic
    if taken > limit + (RESERVED if number >= 90 else 0):
        wrong.append(f"takes {taken} bytes of shared memory ({kernel.dynamic} of them dynamic), a block has {limit}")
    return wrong


def instructions_wrong(kernel, row):
    has_body = re.search(row.images, kernel.image)
    held, wrong = kernel.instructions, []
    if has_body and not any(re.search(row.needs, name) for name in held):
        wrong.append(f"holds no instruction {row.needs}")
    others = sorted(name for name in held if MATRIX.match(name) and not (has_body and re.search(row.matrix, name)))
    if others:
        wrong.append(f"holds {', '.join(others)}")
    return wrong


def row_of(kernel):
    for row in TABLE:
        if row.member == kernel.member and row.kernel in (kernel.base(), kernel.name()):
            return row
    return None


def give_dynamic(kernels, dynamic):
    """Tells the kernels how much of it they ask for, in images that have their body: the others are not started."""
    for kernel in kernels:
        row = row_of(kernel)
        if row and re.search(row.images, kernel.image):
            kernel.dynamic = dynamic.get(kernel.base(), 0)


def audit(kernels, images_of, images):
    """Complaints, and how many kernels were held to a row. kernels: all that were read; images_of: {member: set}."""
    wrong, held, seen = [], 0, collections.Counter()
    for member, has in images_of.items():
        missing = sorted(set(images) - has)
        if missing and any(kernel.member == member for kernel in kernels):
            wrong.append(f"{member}: holds no image {', '.join(missing)}")
    for kernel in kernels:
        if kernel.image in images:
            wrong += [f"{kernel.text()}: {text}" for text in limits_broken(kernel)]
        row = row_of(kernel)
        if row and kernel.image in images:
            wrong += [f"{kernel.text()}: {text}" for text in instructions_wrong(kernel, row)]
            seen[row] += bool(re.search(row.images, kernel.image))
            held += 1
        elif not row and any(MATRIX.match(name) for name in kernel.instructions):
            wrong.append(f"{kernel.text()}: multiplies matrices, and sass.py has no row for it")
    for row in TABLE:
        bodies = [image for image in images if re.search(row.images, image)]
        if row.member in images_of and bodies and not seen[row]:
            wrong.append(f"{row.member}: there is no kernel {row.kernel} in {', '.join(bodies)}: renamed?")
    return wrong, held


# ---- The tools -------------------------------------------------------------------------------------------------------


def find_tools(folder):
    """{name: path} of both, or None."""
    packages = [path for base in site.getsitepackages() + [site.getusersitepackages()]
                for path in glob.glob(os.path.join(base, "nvidia", "*", "bin"))]
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin", folder or "", *packages])
    tools = {name: shutil.which(name, path=places) for name in ("cuobjdump", "nvdisasm")}
    return tools if all(tools.values()) else None


def dump(tools, option, path):
    environment = dict(os.environ, NVDISASM_PATH=os.path.dirname(tools["nvdisasm"]),
                       PATH=os.path.dirname(tools["nvdisasm"]) + os.pathsep + os.environ.get("PATH", ""))
    result = subprocess.run([tools["cuobjdump"], option, path], env=environment, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"sass.py: {tools['cuobjdump']} {option} {path}: {result.stderr.strip()}")
    return result.stdout


def asks_for_more(path):
    """Does the object raise the limit of dynamic shared memory of a kernel?"""
    with open(path, "rb") as f:
        return b"cudaFuncSetAttribute" in f.read()


def read_object(tools, path):
    member = os.path.basename(path).removesuffix(".cu.o")
    kernels, images = read_resources(dump(tools, "-res-usage", path), member)
    read_machine_code(dump(tools, "-sass", path), kernels)
    dynamic = constants_of(path)
    give_dynamic(kernels.values(), dynamic)
    unknown = set(dynamic) - {kernel.base() for kernel in kernels.values()}
    wrong = [f"{member}: {DYNAMIC}{name} is of no kernel" for name in sorted(unknown)]
    if asks_for_more(path) and not dynamic:
        wrong.append(f"{member}: raises a kernel's limit of shared memory and has no {DYNAMIC}KERNEL to say how far")
    return list(kernels.values()), {member: images}, wrong


def read_library(tools, library):
    kernels, images_of, wrong = [], {}, []
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["ar", "x", os.path.abspath(library)], cwd=scratch, check=True)
        objects = sorted(glob.glob(os.path.join(scratch, "*.cu.o")), key=os.path.getsize, reverse=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for part in pool.map(lambda path: read_object(tools, path), objects):
                kernels += part[0]
                images_of.update(part[1])
                wrong += part[2]
    return kernels, images_of, wrong


def check(library, images, folder):
    tools = find_tools(folder)
    if not images:
        print("this build holds no image: nothing was checked")
        return 77
    if not tools:
        print("cuobjdump and nvdisasm are not installed: nothing was checked")
        return 77
    kernels, images_of, wrong = read_library(tools, library)
    complaints, held = audit(kernels, images_of, images)
    wrong += complaints
    for text in wrong:
        print("FAILED: " + text, file=sys.stderr)
    print(f"{len(kernels)} kernels in {len(images)} images ({', '.join(images)}): {held} held to the instructions that "
          f"they are written around, {len(wrong)} complaints")
    return 1 if wrong or not held else 0


# ---- Planted faults --------------------------------------------------------------------------------------------------

RESOURCES = """
Fatbin elf code:
================
arch = sm_90a

Resource usage:
 Common:
  GLOBAL:0
 Function _Z11wgrad_wgmmaILb0ELi2ELb0EEv13sb_wgrad_args:
  REG:168 STACK:0 SHARED:1024 LOCAL:0 CONSTANT[0]:1024 TEXTURE:0 SURFACE:0 SAMPLER:0

Fatbin elf code:
================
arch = sm_120f

Resource usage:
 Common:
  GLOBAL:0
 Function _Z11wgrad_wgmmaILb0ELi2ELb0EEv13sb_wgrad_args:
  REG:4 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:1408 TEXTURE:0 SURFACE:0 SAMPLER:0

Fatbin ptx code:
================
arch = sm_120f
"""

MACHINE_CODE = """
Fatbin elf code:
================
arch = sm_90a

\tcode for sm_90a
\t\tFunction : _Z11wgrad_wgmmaILb0ELi2ELb0EEv13sb_wgrad_args
        /*0000*/                   LDC R1, c[0x0][0x28] ;                       /* 0x00000a00ff017b82 */
        /*0010*/               @P0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8].tnspA.tnspB, R24, gsb0 ; /* 0x0060 */
        /*0020*/                   EXIT ;                                       /* 0x000000000000794d */

Fatbin elf code:
================
arch = sm_120f

\tcode for sm_120
\t\tFunction : _Z11wgrad_wgmmaILb0ELi2ELb0EEv13sb_wgrad_args
        /*0000*/                   NOP ;                                        /* 0x0000000000007918 */
"""

RESOURCE, CODE = 0, 1
# what is planted: in which text, what stands there once, what in its place, and a part of what must be said of it
FAULTS = {
    "a spill": (RESOURCE, "REG:168 STACK:0", "REG:168 STACK:32", "registers were spilled"),
    "local memory": (CODE, "LDC R1,", "STL [R1],", "loads or stores local memory"),
    "no wgmma": (CODE, "HGMMA.64x256x16.F32.BF16", "FFMA", "holds no instruction"),
    "a narrower wgmma": (CODE, "HGMMA.64x256x16.F32.BF16", "HGMMA.64x128x16.F32.BF16", "holds HGMMA.64x128x16"),
    "mma.sync beside it": (CODE, "LDC R1,", "HMMA.16816.F32.BF16 R1,", "holds HMMA"),
    "a body where none should be": (CODE, "NOP ;", "HGMMA.64x256x16.F32.BF16 R24 ;", "holds HGMMA"),
    "static shared memory": (RESOURCE, "SHARED:0 ", "SHARED:102401 ", "a block has 101376"),
    "registers": (RESOURCE, "REG:4 ", "REG:256 ", "takes 256 registers"),
    "an image that is gone": (RESOURCE, "elf code:\n================\narch = sm_120f",
                              "elf code:\n================\narch = sm_121f", "holds no image sm_120f"),
    "a kernel that is gone": (RESOURCE, "11wgrad_wgmmaILb0ELi2ELb0EEv13sb_wgrad_args:\n  REG:168",
                              "11wgrad_wgmmbILb0ELi2ELb0EEv13sb_wgrad_args:\n  REG:168", "renamed?"),
    "machine code that is not there": (CODE, "Function : _Z11wgrad_wgmmaILb0ELi2ELb0EEv13sb_wgrad_args\n"
                                             "        /*0000*/                   LDC", "LDC", "were not read"),
}


def audit_texts(resources, machine_code, member="wgrad_varlen_k_wgmma", dynamic=0, images=("sm_90a", "sm_120f")):
    kernels, images_there = read_resources(resources, member)
    read_machine_code(machine_code, kernels)
    give_dynamic(kernels.values(), {"wgrad_wgmma": dynamic})
    return audit(list(kernels.values()), {member: images_there}, images)


def constants_by(compiler):
    """What constants_of finds in an object that has one."""
    with tempfile.TemporaryDirectory() as scratch:
        source, made = os.path.join(scratch, "a.c"), os.path.join(scratch, "a.o")
        with open(source, "w", encoding="utf-8") as f:
            f.write(f"const int other = 3;\nextern const int {DYNAMIC}k;\nconst int {DYNAMIC}k = 100000;\n")
        subprocess.run([compiler, "-c", source, "-o", made], check=True)
        return constants_of(made)


def self_test(compiler):
    expected = {
        "the texts as they are": (audit_texts(RESOURCES, MACHINE_CODE), ([], 2)),
        "the most dynamic shared memory": (audit_texts(RESOURCES, MACHINE_CODE, dynamic=227 * KIB)[0], []),
        "the constant": (constants_by(compiler), {"k": 100000}),
    }
    for name, (found, wanted) in expected.items():
        if found != wanted:
            sys.exit(f"sass.py: {name}: {found}, wanted {wanted}")
    too_much = audit_texts(RESOURCES, MACHINE_CODE, dynamic=227 * KIB + 1)
    renamed = [text.replace("sm_90a", "sm_91a") for text in (RESOURCES, MACHINE_CODE)]
    other_image = audit_texts(*renamed, images=["sm_91a"])
    said = {"dynamic shared memory": (too_much[0], "a block has 232448"),
            "an image without limits": (other_image[0], "knows no limit"),
            "a kernel without a row": (audit_texts(RESOURCES, MACHINE_CODE, "wgrad_call")[0], "multiplies matrices")}
    for name, (which, old, new, words) in FAULTS.items():
        texts = [RESOURCES, MACHINE_CODE]
        if texts[which].count(old) != 1:
            sys.exit(f"sass.py: '{name}' is planted nowhere: its text is there {texts[which].count(old)} times")
        texts[which] = texts[which].replace(old, new)
        said[name] = (audit_texts(*texts)[0], words)
    for name, (complaints, words) in said.items():
        if not any(words in text for text in complaints):
            sys.exit(f"sass.py: '{name}' was planted and not seen: {complaints}")
    print(f"{len(said)} planted faults were seen")
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    if len(sys.argv) not in (3, 4) or not sys.argv[2].startswith("images:"):
        sys.exit("usage: sass.py LIBRARY images:IMAGES [FOLDER] | --self-test CC")
    images = [image for image in sys.argv[2].removeprefix("images:").split(",") if image]
    return check(sys.argv[1], images, sys.argv[3] if len(sys.argv) == 4 else None)


if __name__ == "__main__":
    sys.exit(main())
