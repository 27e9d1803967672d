#!/usr/bin/env python3
"""Runs every command and every code block of README.md, so that none of them can rot.

    readme.py SOURCE BUILD commands|add-op

`commands`: the blocks of `sh` and `python`, in order, in SOURCE, with BUILD in the place of `build`. A block must end
with exit status 0, or with what a comment in front of it says: `<!-- exit: 1 -->`, or
`<!-- exit: 0 with a GPU, 3 without -->`. `./harness/test` is what runs this program: it is not run inside itself.

`add-op`: the blocks that start with a comment `file: PATH` are written into a copy of SOURCE, those that start with
`in PATH, before: TEXT` are put in front of that text, the copy is built, and the new op's cases are made and verified
(and checked on the GPU, where there is one).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:<!--\s*exit: (?P<exit>[^>]*?)\s*-->\n)?^```(?P<language>\w+)\n(?P<body>.*?)^```", re.S | re.M)
NEW_FILE = re.compile(r"\A(?:/\*|//) file: (?P<path>\S+?)(?: - .*?)?(?: \*/)?\n")
INSERTION = re.compile(r"\A// in (?P<path>\S+), before: (?P<anchor>.*)\n")
TREE = ("ref", "golden", "gpu", "harness", "reports", "tests")
PYTHON = "/usr/bin/python3"  # Debian's, which has h5py


def fail(text):
    sys.exit("readme.py: " + text)


def has_gpu(program):
    """Is there a GPU that this build has kernels for? Whether they are right is another question."""
    return subprocess.run([program, "check", "--suite", "smoke", "--op", "e8m0_upcast", "--device", "0"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 3


def wanted_status(note, gpu):
    if note is None:
        return 0
    both = re.fullmatch(r"(\d+) with a GPU, (\d+) without", note)
    return int(both.group(1 if gpu else 2)) if both else int(note)


def run_block(language, body, source, build):
    body = re.sub(r"(?<![\w/])build/", build + "/", body)
    command = ["bash", "-e", "-o", "pipefail", "-c", body] if language == "sh" else [PYTHON, "-c", body]
    environment = dict(os.environ, SAMEBITS_BUILD=build)
    return subprocess.run(command, cwd=source, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run_commands(blocks, source, build):
    gpu = has_gpu(os.path.join(build, "samebits"))
    shutil.rmtree(os.path.join(build, "smoke-set"), ignore_errors=True)  # of an earlier run, perhaps of other cases
    passed = 0
    for block in blocks:
        language, body = block["language"], block["body"]
        if language not in ("sh", "python"):
            continue
        if body.strip() == "./harness/test":
            continue
        result = run_block(language, body, source, build)
        wanted = wanted_status(block["exit"], gpu)
        if result.returncode != wanted:
            fail(f"exit status {result.returncode}, README.md promises {wanted}:\n{body}\n{result.stdout[-4000:]}")
        passed += 1
    if passed < 8:
        fail(f"only {passed} blocks of commands found: is this the README?")
    print(f"{passed} blocks of commands did what README.md says")


def write_blocks(blocks, tree):
    written = 0
    for block in blocks:
        body = block["body"]
        new, insertion = NEW_FILE.match(body), INSERTION.match(body)
        if new:
            path = os.path.join(tree, new["path"])
            if os.path.exists(path):
                fail(f"{new['path']} is there already")
            with open(path, "w", encoding="utf-8") as f:
                f.write(body)
        elif insertion:
            path = os.path.join(tree, insertion["path"])
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if text.count(insertion["anchor"]) != 1:
                fail(f"{insertion['path']} has {text.count(insertion['anchor'])} times: {insertion['anchor']}")
            inserted = body[insertion.end():]
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(insertion["anchor"], inserted + insertion["anchor"]))
        else:
            continue
        written += 1
    return written


def run(command, wanted=0):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != wanted:
        fail(f"{' '.join(command)}: exit status {result.returncode}, wanted {wanted}\n{result.stdout[-6000:]}")
    return result.stdout


def add_op(blocks, source):
    with tempfile.TemporaryDirectory() as scratch:
        tree, build = os.path.join(scratch, "tree"), os.path.join(scratch, "build")
        for part in TREE:
            shutil.copytree(os.path.join(source, part), os.path.join(tree, part))
        shutil.copy(os.path.join(source, "CMakeLists.txt"), tree)
        if write_blocks(blocks, tree) < 4:
            fail("README.md shows no new op")
        run(["cmake", "-S", tree, "-B", build, "-DBUILD_TESTING=OFF", "-DSAMEBITS_TARGETS=90a", "-DSAMEBITS_WERROR=ON"])
        run(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", "samebits"])
        program = os.path.join(build, "samebits")
        cases = [line.split()[0] for line in run([program, "list", "--op", "bf16_narrow"]).splitlines()
                 if line.startswith("bf16_narrow/")]
        if not cases:
            fail("the new op has no case")
        run([program, "golden", "make", "--op", "bf16_narrow", "--out", os.path.join(scratch, "set")])
        run([program, "golden", "verify", os.path.join(scratch, "set"), "--deep"])
        if has_gpu(program):
            run([program, "check", "--op", "bf16_narrow", "--golden", os.path.join(scratch, "set"), "--require", "gpu"])
        print(f"the op of README.md builds; {len(cases)} cases made and verified")


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in ("commands", "add-op"):
        fail("usage: readme.py SOURCE BUILD commands|add-op")
    source, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with open(os.path.join(source, "README.md"), encoding="utf-8") as f:
        text = f.read()
    placeholder = re.search(r"\b(TODO|FIXME|[A-Z]{3,}_[A-Z_]{3,})\b", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S))
    if placeholder:
        fail(f"README.md holds a placeholder: {placeholder.group()}")
    blocks = list(BLOCK.finditer(text))
    if sys.argv[3] == "commands":
        run_commands(blocks, source, build)
    else:
        add_op(blocks, source)


if __name__ == "__main__":
    main()
