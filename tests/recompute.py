#!/usr/bin/env python3
"""Second opinion on a golden set: re-computes every output from the text of the contracts, in another way.

    recompute.py FOLDER [--max-macs N] [--no-manifest]
    recompute.py --self-test

Opens every .h5 file below FOLDER and holds every byte, shape, dtype and digest, the status attributes and the
manifests to what this program computes from /inputs and the root attributes alone. It shares no code with the suite,
and no method either: routing metadata by sorting, 128x4 tiles by reshape and transpose, dot products in exact float64.

Exit status: 0 all equal, 1 a mismatch (file, dataset, index, expected, actual), 2 bad usage or nothing found.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter

import h5py
import numpy as np

import contract_tc

INT32_MAX = 2**31 - 1
GENERATOR = "philox4x32-10/1"
CONTRACTS = {"wgrad_varlen_k": "wgrad_varlen_k/tc-bf16-k16-f25"}  # where the name says more than the op's

# The dtype attribute and the HDF5 types that may carry it. bf16 and e8m0 have no type of their own.
STORED = {"u8": ("|u1",), "e8m0": ("|u1",), "i8": ("|i1",), "i32": ("<i4",), "i64": ("<i8",), "f32": ("<f4", "<u4"),
          "bf16": ("<u2",)}

# Values of parameters that an id may leave out.
DEFAULTS = {
    "e8m0_upcast": {"out_dtype": "f32", "row_stride": 0, "dist": "real", "history": "fresh", "misalign": 0,
                    "misalign_out": 0},
    "topk_metadata": {"block": 128, "idx": "i64", "order": "expert", "counts": "none", "counts_align": 1},
    "scale_pack": {"carrier": "u8", "fill": 1, "gather": "none", "row_stride": 0, "col_stride": 1, "misalign": 0},
    "wgrad_varlen_k": {"gather": "none", "accumulate": 0, "in_place": 0, "out_dtype": "f32", "ld_dy": 0, "ld_x": 0,
                       "break": "none", "sample": 0},
}
DEFAULTS["metadata_pack"] = {**DEFAULTS["topk_metadata"], "carrier": "u8", "fill": 1, "misalign": 0}
SAMPLE_TILE = 64  # rows and columns of a sampled tile, where the output has as many
NATURAL_SIZE = ("R", "x_rows")  # -1 in the id, the number meant in the attribute

# break=misaligned_NAME: NAME lies 8 bytes past a multiple of 16, which no array shows. Its number in the status:
ADDRESSES = {"dy": 5, "x": 6, "dw": 7, "main_grad": 8}


# ---- one golden file ----------------------------------------------------------------------------

class Golden:
    """One golden file: attributes as Python values, datasets as arrays, complaints collected in `problems`."""

    def __init__(self, shown):
        self.shown, self.problems, self.attrs, self.digests = shown, [], {}, {}
        self.skipped = self.without_inputs = False

    def read(self, file):
        self.attrs = {name: plain(value) for name, value in file.attrs.items()}
        self.inputs, self.input_types = self._read_group(file, "inputs")
        self.outputs, self.output_types = self._read_group(file, "outputs")
        self.samples, self.sample_types = self._read_group(file, "samples")
        self.sampled = {name: plain(data.attrs["sampled"]) for name, data in
                        (file["outputs"].items() if "outputs" in file else ()) if "sampled" in data.attrs}
        stated = file["inputs"].attrs.items() if "inputs" in file else ()  # inputs too large to be kept
        self.stated = {name: plain(value) for name, value in stated}
        self.digests.update({name: value for name, value in self.stated.items() if name.endswith(".sha256")})

    def problem(self, where, text):
        self.problems.append(f"{self.shown}: {where}: {text}")

    def attr(self, name):
        if name not in self.attrs:
            raise LookupError(f"root attribute {name}: missing")
        return self.attrs[name]

    def param(self, name):
        return self.attrs.get(name, DEFAULTS[self.attr("op")].get(name))

    def _read_group(self, file, group):
        arrays, types = {}, {}
        for name, dataset in (file[group].items() if group in file else ()):
            where = f"/{group}/{name}"
            array = np.asarray(dataset[()])
            attrs = {key: plain(value) for key, value in dataset.attrs.items()}
            dtype = attrs.get("dtype")
            if dtype not in STORED or array.dtype.str not in STORED[dtype]:
                self.problem(where, f"dtype attribute {dtype!r} on stored type {array.dtype.str}")
            if not str(attrs.get("description", "")).strip():
                self.problem(where, "no description")
            digest = hashlib.sha256(np.ascontiguousarray(array).data if array.size else b"").hexdigest()
            if attrs.get("sha256") != digest:
                self.problem(where, f"sha256: expected {digest}, actual {attrs.get('sha256')}")
            arrays[name], types[name], self.digests[where] = array, dtype, digest
        return arrays, types

    def expect_input(self, name, shape, *dtypes):
        if name not in self.inputs:
            raise LookupError(f"/inputs/{name}: missing")
        array = self.inputs[name]
        if array.shape != tuple(shape):
            self.problem(f"/inputs/{name}", f"shape: expected {tuple(shape)}, actual {array.shape}")
        if self.input_types[name] not in dtypes:
            self.problem(f"/inputs/{name}", f"dtype: expected {' or '.join(dtypes)}, actual {self.input_types[name]}")
        return array

    def optional_input(self, name, present, shape, dtype):
        if not present and name in self.inputs:
            self.problem(f"/inputs/{name}", "there, but the parameters say it is absent")
        return self.expect_input(name, shape, dtype) if present else None


def plain(value):
    """An HDF5 attribute as str, int or list of int."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim else plain(value[()])
    return value.decode() if isinstance(value, bytes) else value.item() if isinstance(value, np.generic) else value


def raw_bits(array):
    """The array's bytes as unsigned integers of its width, flat: NaNs compare by their bits."""
    return np.ascontiguousarray(array).reshape(-1).view(f"<u{array.dtype.itemsize}")


def compare_output(golden, name, dtype, expected):
    where = f"/outputs/{name}"
    if name not in golden.outputs:
        return golden.problem(where, "missing")
    actual = golden.outputs[name]
    for what, want, have in (("dtype", dtype, golden.output_types[name]), ("shape", expected.shape, actual.shape),
                             ("bytes of an element", expected.dtype.itemsize, actual.dtype.itemsize)):
        if want != have:
            return golden.problem(where, f"{what}: expected {want}, actual {have}")
    want, have = raw_bits(expected), raw_bits(actual)
    wrong = np.nonzero(want != have)[0]
    if wrong.size:
        index = tuple(int(i) for i in np.unravel_index(wrong[0], expected.shape)) if expected.ndim else ()
        first = [f"{int(bits[wrong[0]])} (0x{int(bits[wrong[0]]):0{2 * bits.itemsize}x})" for bits in (want, have)]
        golden.problem(where, f"index {index}: expected {first[0]}, actual {first[1]} "
                              f"({wrong.size} of {want.size} elements differ)")


# ---- the ops: each returns (rejection, ignored ids, {output: (dtype, array)}) ---------------------
# A rejection is None or (status, where), the first in the contract's order. Those for plain arguments alone are not
# known here: no array shows them, and their suite is not for this program.

def e8m0_upcast(golden):
    text = golden.attr("shape")
    shape = () if text == "scalar" else tuple(int(extent) for extent in str(text).split("x"))
    scale = golden.expect_input("scale", shape, "e8m0", "u8")
    out_dtype = golden.param("out_dtype")
    return None, 0, {"out": (out_dtype, contract_tc.e8m0_codes(golden.attr("semantics"), out_dtype)[scale])}


def topk_metadata(golden):
    rows, topk, experts, block = (int(golden.param(name)) for name in ("N", "topk", "E", "block"))
    if rows * topk > INT32_MAX:  # rejected by its size alone: such a file holds no inputs
        return ("too_large", (rows * topk, INT32_MAX, 0)), 0, {}
    ids = golden.expect_input("topk_idx", (rows, topk), golden.param("idx")).astype(np.int64)
    prob = raw_bits(golden.expect_input("topk_prob", (rows, topk), "f32")).reshape(rows, topk)
    given = golden.optional_input("tokens_per_expert", golden.param("counts") != "none", (experts,), "i32")
    valid = (ids >= 0) & (ids < experts)
    ignored = int(((ids != -1) & ~valid).sum())
    rejection = _routing_rejection(golden, ids, valid, given, experts, block)
    return rejection, ignored, {} if rejection else contract_tc.route(ids, prob, experts, block, golden.param("order"))


def _routing_rejection(golden, ids, valid, given, experts, block):
    twice = contract_tc.first_duplicate(ids, valid)
    if twice:
        return "duplicate_expert", twice
    counts = contract_tc.count_experts(ids, valid, experts)
    if given is not None:
        align = int(golden.param("counts_align"))
        for e in np.nonzero(given != align * contract_tc.cdiv(counts, align))[0][:1]:
            return "count_mismatch", (int(e), int(given[e]), int(counts[e]))
    padded = int((block * contract_tc.cdiv(counts, block)).sum())
    return ("too_large", (padded, INT32_MAX, 0)) if padded > INT32_MAX else None


def scale_pack(golden):
    rows = int(golden.attr("N"))
    packed_rows = int(golden.attr("R")) if golden.attr("R") != -1 else rows
    gather = golden.optional_input("gather", golden.param("gather") != "none", (packed_rows,), "i32")
    if gather is None:
        gather = np.arange(rows)
        if packed_rows != rows:
            golden.problem("root attribute R", f"expected {rows} (no gather), actual {packed_rows}")
    outside = np.nonzero((gather < 0) | (gather >= rows))[0]
    rejection = _scales_a_row(golden)[1]
    if rejection is None and outside.size:
        rejection = "gather_range", (int(outside[0]), int(gather[outside[0]]), rows)
    return rejection, 0, {} if rejection else {"packed": ("u8", _pack(golden, gather))}


def _scales_a_row(golden):
    """(S, the rejection of a carrier that cannot hold S scales, or None)."""
    per_row = contract_tc.cdiv(int(golden.attr("cols")), 32)
    if golden.attrs.get("S", per_row) != per_row:
        golden.problem("root attribute S", f"expected {per_row}, actual {golden.attrs['S']}")
    return per_row, ("carrier_width", (per_row, 4, 0)) if golden.param("carrier") == "i32x4" and per_row % 4 else None


def _pack(golden, gather):
    """Packed bytes of the gathered rows."""
    rows, per_row, carrier = int(golden.attr("N")), _scales_a_row(golden)[0], golden.param("carrier")
    width = per_row // 4 if carrier == "i32x4" else per_row
    types = {"u8": ("u8", "e8m0"), "i8": ("i8",), "i32": ("i32",), "i32x4": ("i32",)}[carrier]
    raw = raw_bits(golden.expect_input("raw", (rows, width), *types)).reshape(rows, width)
    scales = raw.view(np.uint8).reshape(rows, per_row) if carrier == "i32x4" else (raw & 0xFF).astype(np.uint8)
    return contract_tc.pack_tiles(scales, gather, int(golden.attr("cols")), int(golden.param("fill")))


def metadata_pack(golden):
    refused = _scales_a_row(golden)[1]  # an argument: decides before any index is read, but after the size N * topk
    if refused and int(golden.attr("N")) * int(golden.attr("topk")) <= INT32_MAX:
        return refused, 0, {}
    rejection, ignored, outputs = topk_metadata(golden)
    if outputs:
        outputs["packed"] = ("u8", _pack(golden, outputs["x_gather_idx"][1]))
    return rejection, ignored, outputs


def stated_inputs(golden):
    """Holds what a file without its inputs says of them to the parameters; their bytes are not known here."""
    m_size, n_size, experts, rows, x_rows = (int(golden.attr(name)) for name in ("M", "N", "E", "T", "Tx"))
    expected = {"dy": f"bf16[{rows},{m_size}]", "x": f"bf16[{x_rows},{n_size}]", "cu_seqlens": f"i32[{experts + 1}]"}
    if golden.param("gather") != "none":
        expected["x_gather_idx"] = f"i32[{rows}]"
    if int(golden.param("accumulate")):
        expected["main_grad"] = f"f32[{experts},{m_size},{n_size}]"
    for name, layout in expected.items():
        if golden.stated.get(name) != layout:
            golden.problem(f"/inputs attribute {name}", f"expected {layout}, actual {golden.stated.get(name)}")
        if not re.fullmatch("[0-9a-f]{64}", str(golden.stated.get(name + ".sha256"))):
            golden.problem(f"/inputs attribute {name}.sha256", "missing or no digest")
    for name in sorted(set(golden.stated) - set(expected) - {name + ".sha256" for name in expected}):
        golden.problem(f"/inputs attribute {name}", "must not be there")
    if golden.inputs:
        golden.problem("/inputs", "both kept and stated")


def sample_table(golden, name, shape):
    """The tiles (e, m0, m1, n0, n1) of a sampled output, each held to the shape of the whole."""
    where = f"/samples/{name}"
    if golden.sampled.get(name) != where:
        golden.problem(f"/outputs/{name}", f"attribute sampled: expected {where}, actual {golden.sampled.get(name)}")
    if name not in golden.samples:
        raise LookupError(f"{where}: missing")
    table, count = golden.samples[name], int(golden.param("sample"))
    if golden.sample_types[name] != "i64" or table.shape != (count, 5):
        raise LookupError(f"{where}: expected i64 {(count, 5)}, actual {golden.sample_types[name]} {table.shape}")
    size = [min(SAMPLE_TILE, extent) for extent in shape[1:]]
    for row, (e, m0, m1, n0, n1) in enumerate(table.tolist()):
        if not 0 <= e < shape[0] or m0 < 0 or n0 < 0 or m1 > shape[1] or n1 > shape[2] or [m1 - m0, n1 - n0] != size:
            raise LookupError(f"{where}: row {row}: {(e, m0, m1, n0, n1)} is no tile of {tuple(size)} in {shape}")
    if table[0, [0, 1, 3]].any():
        golden.problem(where, "the first tile does not hold the first element")
    return table


def wgrad_macs(golden):
    cu = golden.inputs["cu_seqlens"].astype(np.int64)
    return max(int(cu[-1] - cu[0]), 0) * int(golden.attr("M")) * int(golden.attr("N"))


def wgrad_varlen_k(golden):
    m_size, n_size, experts, rows, x_rows = (int(golden.attr(name)) for name in ("M", "N", "E", "T", "Tx"))
    dy = golden.expect_input("dy", (rows, m_size), "bf16")
    x = golden.expect_input("x", (x_rows, n_size), "bf16")
    cu = golden.expect_input("cu_seqlens", (experts + 1,), "i32").astype(np.int64)
    gather = golden.optional_input("x_gather_idx", golden.param("gather") != "none", (rows,), "i32")
    main_grad = golden.optional_input("main_grad", int(golden.param("accumulate")), (experts, m_size, n_size), "f32")
    main_grad = None if main_grad is None else main_grad.view(np.uint32)
    rejection = _wgrad_rejection(golden, cu, rows, x_rows, gather)
    if rejection:
        return rejection, 0, {}
    dw = contract_tc.wgrad(dy, x, cu, gather, main_grad)
    out_dtype = golden.param("out_dtype")
    dw = contract_tc.round_to_bf16(dw) if out_dtype == "bf16" else dw
    if int(golden.param("sample")):
        dw = np.stack([dw[e, m0:m1, n0:n1] for e, m0, m1, n0, n1 in sample_table(golden, "dw", dw.shape)])
    return None, 0, {"dw": (out_dtype, dw)}


def _wgrad_rejection(golden, cu, rows, x_rows, gather):
    m_size, n_size = int(golden.attr("M")), int(golden.attr("N"))
    sizes = m_size, n_size, int(golden.param("ld_dy")) or m_size, int(golden.param("ld_x")) or n_size
    for which, size in enumerate(sizes, 1):
        if size % 8:
            return "alignment", (which, size, 8)
    wrong = golden.param("break").partition("misaligned_")[2]
    if wrong:
        return "alignment", (ADDRESSES[wrong], 8, 16)
    if cu[0] < 0:
        return "segment_order", (0, int(cu[0]), 0)
    for e in np.nonzero(np.diff(cu) < 0)[0][:1]:
        return "segment_order", (int(e), int(cu[e]), int(cu[e + 1]))
    if cu[-1] > rows:
        return "segment_order", (len(cu) - 1, int(cu[-1]), rows)
    if gather is not None:
        inside = gather[cu[0]:cu[-1]]
        for k in np.nonzero((inside < 0) | (inside >= x_rows))[0][:1]:
            return "gather_range", (int(cu[0] + k), int(inside[k]), x_rows)
    return None


OPS = {op.__name__: op for op in (e8m0_upcast, topk_metadata, scale_pack, metadata_pack, wgrad_varlen_k)}


# ---- attributes, status, manifests --------------------------------------------------------------

def check_identity(golden):
    """The attributes that say what the file is; the id, its seed and its parameters must tell one story."""
    op, case = golden.attr("op"), golden.attr("case")
    if op not in OPS:
        raise LookupError(f"root attribute op: unknown op {op!r}")
    seed = int.from_bytes(hashlib.sha256(case.encode()).digest()[:8], "little")
    expected = {"contract": CONTRACTS.get(op, op), "contract_version": 1, "generator": GENERATOR, "seed": seed}
    given = dict(pair.split("=", 1) for pair in case.partition("/")[2].split(",") if "=" in pair)
    expected.update({k: v for k, v in DEFAULTS[op].items() if k not in given and k in golden.attrs})
    expected.update({k: v for k, v in given.items() if not (k in NATURAL_SIZE and v == "-1")})
    for name, value in expected.items():
        if str(golden.attr(name)) != str(value):
            golden.problem(f"root attribute {name}", f"expected {value}, actual {golden.attr(name)}")
    golden.attr("reason")
    if case.partition("/")[0] != op or not ("/" + golden.shown).endswith("/" + case + ".h5"):
        golden.problem("root attribute case", f"{case!r} is not the file's path")


def check_status(golden, rejection, ignored):
    if golden.attr("ignored_ids") != ignored:
        golden.problem("root attribute ignored_ids", f"expected {ignored}, actual {golden.attr('ignored_ids')}")
    name, where = rejection or ("ok", (0, 0, 0))
    status = golden.attr("status"), golden.attr("status_where")
    if status != (name, list(where)):
        golden.problem("root attribute status", f"expected {name} {list(where)}, actual {status[0]} {status[1]}")


def check_file(path, shown, max_macs=None):
    """The Golden of one file, with its problems; the arrays are let go, digests and attributes stay."""
    golden = Golden(shown)
    try:
        with h5py.File(path, "r") as file:
            golden.read(file)
        check_identity(golden)
        op = golden.attr("op")
        if golden.stated:
            golden.skipped = golden.without_inputs = True
            stated_inputs(golden)
            sample_table(golden, "dw", tuple(int(golden.attr(name)) for name in "EMN"))
            return golden
        if op == "wgrad_varlen_k" and max_macs is not None and wgrad_macs(golden) > max_macs:
            golden.skipped = True
            return golden
        rejection, ignored, outputs = OPS[op](golden)
        check_status(golden, rejection, ignored)
        for name in sorted(set(golden.outputs) - set(outputs)):
            golden.problem(f"/outputs/{name}", "must not be there")
        sampled = outputs if int(golden.param("sample") or 0) else ()
        for name in sorted(set(golden.samples) - set(sampled)):
            golden.problem(f"/samples/{name}", "must not be there")
        for name, (dtype, expected) in outputs.items():
            compare_output(golden, name, dtype, expected)
    except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        golden.problem("cannot be judged", f"{type(error).__name__}: {error}")
    finally:
        golden.inputs = golden.outputs = golden.samples = None
    return golden


def manifest_claims(node, key=""):
    """(path, object) of every object in a manifest that speaks of one .h5 file, however it is nested."""
    for name, item in enumerate(node) if isinstance(node, list) else node.items() if isinstance(node, dict) else ():
        yield from manifest_claims(item, str(name))
    values = list(node.values()) if isinstance(node, dict) else [node] if key.endswith(".h5") else []
    paths = [v for v in [key, *values] if isinstance(v, str) and v.endswith(".h5")]
    if not paths and isinstance(node, dict) and isinstance(node.get("case"), str):
        paths = [node["case"] + ".h5"]
    if paths:
        yield paths[0], node if isinstance(node, dict) else {"sha256": node}


def read_sums(file):
    for line in file:
        digest, _, name = line.rstrip("\n").partition("  ")
        yield name, {"sha256": digest}


def check_manifests(root, files, read):
    """Holds manifest.json and SHA256SUMS of every folder that has one to the files below it, both ways: problems."""
    covered = set()
    readers = {"SHA256SUMS": read_sums, "manifest.json": lambda file: manifest_claims(json.load(file))}
    for folder, _, names in sorted(os.walk(root)):
        below = {os.path.relpath(path, folder).replace(os.sep, "/"): path for path in files
                 if path.startswith(os.path.join(folder, ""))}
        for source, reader in readers.items() if set(readers) & set(names) else ():
            covered |= set(below.values())
            shown, claims = os.path.join(folder, source), []
            try:
                with open(shown, encoding="utf-8") as file:
                    claims = list(reader(file))
            except (OSError, ValueError) as error:
                yield f"{shown}: {error}"
            listed = Counter(name for name, _ in claims)
            yield from (f"{shown}: {name}: listed {listed[name]} times" for name in sorted(set(below) | set(listed))
                        if listed[name] != 1)
            for name, entry in claims:
                for text in entry_problems(os.path.join(folder, name), entry, read.get(below.get(name))):
                    yield f"{shown}: {name}: {text}"
    for path in sorted(set(files) - covered):
        yield f"{path}: no manifest.json or SHA256SUMS lists it (--no-manifest leaves them out)"


def entry_problems(path, entry, golden):
    """What a manifest says of a file (its digest, attributes, digests of datasets) must be what the file says."""
    if not os.path.isfile(path):
        return ["no such file"]
    hexes, actual = set(re.findall(r"\b[0-9a-f]{64}\b", json.dumps(entry))), file_sha256(path)
    problems = [] if actual in hexes else [f"sha256: expected {actual}, actual {sorted(hexes)}"]
    if golden is not None:
        problems += [f"digest {digest} is of nothing in the file"
                     for digest in sorted(hexes - {actual} - set(golden.digests.values()))]
        for key in sorted(set(entry) & set(golden.attrs)):
            if isinstance(entry[key], (str, int, list)) and str(entry[key]) != str(golden.attrs[key]):
                problems.append(f"{key}: expected {golden.attrs[key]}, actual {entry[key]}")
    return problems


def file_sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def golden_files(root):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
                  if name.endswith(".h5"))


def check_folder(root, max_macs=None, manifest=True, say=print):
    """Exit status of checking every .h5 file below `root`."""
    files = golden_files(root)
    if not files:
        say(f"no .h5 file below {root}")
        return 2
    checked, problems, read = Counter(), 0, {}
    for path in files:
        golden = read[path] = check_file(path, os.path.relpath(path, root).replace(os.sep, "/"), max_macs)
        checked[golden.attrs.get("op", "unreadable")] += not golden.skipped
        problems += len(golden.problems)
        for text in golden.problems:
            say("MISMATCH " + text)
    for text in check_manifests(root, files, read) if manifest else ():
        problems += 1
        say("MISMATCH " + text)
    say("manifests " + ("checked" if manifest else "NOT checked (--no-manifest)"))
    for op, count in sorted((+checked).items()):
        say(f"{op}: {count} files re-computed")
    without = sum(golden.without_inputs for golden in read.values())
    if without:
        say(f"wgrad_varlen_k: {without} files NOT checked, their inputs are too large to be kept")
    skipped = sum(golden.skipped and not golden.without_inputs for golden in read.values())
    if skipped:
        say(f"wgrad_varlen_k: {skipped} files NOT checked, more than {max_macs} multiply-adds (--max-macs)")
    say(f"{sum(checked.values())} of {len(files)} files re-computed, {problems} mismatches")
    return 1 if problems else 0 if +checked else 2


# ---- self-test: files made by hand from the slow forms, and every fault in them ------------------

def write_dataset(file, name, dtype, array):
    array = np.asarray(array)
    array = array.view(np.float32) if dtype == "f32" and array.dtype == np.uint32 else array.astype(STORED[dtype][0])
    if name in file:
        del file[name]
    file[name] = array
    file[name].attrs.update(dtype=dtype, description="by hand", sha256=hashlib.sha256(array.tobytes()).hexdigest())


def write_case(root, op, call, inputs, outputs, status="ok", where=(0, 0, 0), ignored=0, samples=(), **attrs):
    """A golden file in the documented format. inputs, outputs, samples: {name: (dtype, array)}."""
    case = f"{op}/{call}"
    attrs.update((name, int(value) if value.isdigit() else value) for name, value in
                 (pair.split("=") for pair in call.split(",")))
    seed = np.frombuffer(hashlib.sha256(case.encode()).digest(), "<u8")[0]
    attrs.update(op=op, contract=CONTRACTS.get(op, op), contract_version=1, case=case, reason="by hand", seed=seed,
                 generator=GENERATOR, status=status, status_where=np.array(where, np.int64), ignored_ids=ignored)
    os.makedirs(os.path.join(root, op), exist_ok=True)
    with h5py.File(os.path.join(root, case + ".h5"), "w") as file:
        file.attrs.update({**DEFAULTS[op], **attrs})
        for group, arrays in (("inputs", inputs), ("outputs", outputs), ("samples", dict(samples))):
            for name, (dtype, array) in arrays.items():
                write_dataset(file, f"/{group}/{name}", dtype, array)
        for name in samples:
            file[f"/outputs/{name}"].attrs["sampled"] = f"/samples/{name}"


def write_set(root):
    """Files of every op; what the program computes by sorting, shapes and float64 is written from the slow forms."""
    rng = np.random.default_rng(3)
    for semantics, high in (("shift", 0x7F800000), ("torch", 0x7F800001), ("cuda", 0x7FFF0000), ("te", 0x7FFFFFFF)):
        low = 0 if semantics == "shift" else 0x00400000
        inputs = {"scale": ("e8m0", [[0, 255, 1], [254, 127, 128]])}
        bits = np.array([[low, high, 0x00800000], [0x7F000000, 0x3F800000, 0x40000000]], np.uint32)
        call = f"shape=2x3,semantics={semantics}"
        write_case(root, "e8m0_upcast", call, inputs, {"out": ("f32", bits)})
        bits = np.where(bits == 0x7F800001, 0x7FC00000, bits) >> 16
        write_case(root, "e8m0_upcast", call + ",out_dtype=bf16", inputs, {"out": ("bf16", bits)})
    write_case(root, "e8m0_upcast", "shape=scalar,semantics=te", {"scale": ("u8", 127)}, {"out": ("f32", 1.0)})
    for rows, topk, experts, block, order in ((0, 2, 3, 4, "expert"), (9, 3, 5, 4, "expert"), (9, 3, 5, 4, "slot")):
        ids = np.array([rng.permutation(experts)[:topk] for _ in range(rows)], np.int64).reshape(rows, topk)
        ids[rng.random(ids.shape) < 0.4] = -1
        ids[:2, 0] = (1 << 32, -5)[:rows]
        prob = rng.integers(0, 1 << 32, ids.shape, np.uint32)
        counts = np.array([(ids == e).sum() for e in range(experts)])
        raw, more = rng.integers(0, 256, (rows, 5), np.uint8), {"ignored": min(rows, 2)}
        inputs = {"topk_idx": ("i64", ids), "topk_prob": ("f32", prob)}
        outputs = contract_tc.slow_route(ids, prob, experts, block, order)
        packed = contract_tc.slow_pack(raw, outputs["x_gather_idx"][1], 160, 127)
        call = f"N={rows},topk={topk},E={experts},block={block},order={order}"
        write_case(root, "metadata_pack", call + ",cols=160,fill=127", {**inputs, "raw": ("u8", raw)},
                   {**outputs, "packed": ("u8", packed)}, **more)
        inputs["tokens_per_expert"] = ("i32", -(-counts // 8) * 8)
        write_case(root, "topk_metadata", call + ",counts=aligned,counts_align=8", inputs, outputs, **more)
        inputs["tokens_per_expert"] = ("i32", counts + (np.arange(experts) >= 2))
        write_case(root, "topk_metadata", call + ",counts=wrong", inputs, {}, "count_mismatch",
                   (2, counts[2] + 1, counts[2]), **more)
    inputs = {"topk_idx": ("i32", [[-1, 9, -1, 9], [2, 1, 1, 2]]), "topk_prob": ("f32", np.zeros((2, 4)))}
    write_case(root, "topk_metadata", "N=2,topk=4,E=3,idx=i32", inputs, {}, "duplicate_expert", (1, 0, 3), 2)
    for carrier, dtype, columns in (("u8", "u8", 5), ("i8", "i8", 5), ("i32", "i32", 5), ("i32x4", "i32", 8)):
        scales, gather = rng.integers(0, 256, (150, columns), np.uint8), rng.integers(0, 150, 260)
        raw = scales.view(np.int32 if carrier == "i32x4" else np.uint8)
        raw = raw | np.int32(-0x5A5A5B00) if carrier == "i32" else raw  # junk above the low byte
        inputs = {"raw": (dtype, raw), "gather": ("i32", gather)}
        call = f"N=150,cols={columns * 32 - 7},carrier={carrier},fill=0"
        packed = contract_tc.slow_pack(scales, range(150), columns * 32, 0)
        write_case(root, "scale_pack", call, {"raw": (dtype, raw)}, {"packed": ("u8", packed)}, R=150)
        call += ",R=260"
        packed = contract_tc.slow_pack(scales, gather, columns * 32, 0)
        write_case(root, "scale_pack", call + ",gather=random", inputs, {"packed": ("u8", packed)})
        inputs["gather"] = ("i32", np.where(np.arange(260) < 77, gather, 150))
        write_case(root, "scale_pack", call + ",gather=outside", inputs, {}, "gather_range", (77, 150, 150))
    inputs["topk_idx"], inputs["topk_prob"] = ("i64", np.full((150, 2), 1)), ("f32", np.zeros((150, 2)))
    call = "cols=264,carrier=i32x4"  # nine scales: the width decides before the bad indices and the duplicates do
    write_case(root, "scale_pack", f"N=150,{call},R=260,gather=outside", inputs, {}, "carrier_width", (9, 4, 0))
    write_case(root, "metadata_pack", f"N=150,topk=2,E=3,{call}", inputs, {}, "carrier_width", (9, 4, 0))
    cu = np.array([1, 8, 8, 26])
    dy, x = (rng.integers(0, 1 << 16, shape).astype(np.uint16) & 0xBFFF for shape in ((28, 8), (30, 16)))
    dy[0], dy[26:] = 0x7FC1, 0x7F80  # rows outside the segments

    def wgrad(*of, **more):
        write_case(root, "wgrad_varlen_k", *of, T=28, Tx=30, **more)

    gather, grad = rng.integers(0, 30, 28), rng.integers(0, 1 << 32, (3, 8, 16), np.uint32)
    gather[26:] = -7
    for gathered, accumulate, out_dtype in ((0, 0, "f32"), (1, 0, "bf16"), (1, 1, "f32"), (0, 1, "bf16")):
        dw = contract_tc.slow_wgrad(dy, x, cu, gather if gathered else None, grad if accumulate else None)
        if out_dtype == "bf16":
            dw = np.reshape([contract_tc.slow_round_to_bf16(bits) for bits in dw.flat], dw.shape)
        inputs = {"dy": ("bf16", dy), "x": ("bf16", x), "cu_seqlens": ("i32", cu)}
        inputs.update({"x_gather_idx": ("i32", gather)} if gathered else {})
        call = f"M=8,N=16,E=3,counts=7+0+18,gather={'random' if gathered else 'none'},out_dtype={out_dtype}"
        for kind, offsets, where in (("descending", [1, 9, 8, 26], (1, 9, 8)), ("past_end", [1, 8, 8, 29], (3, 29, 28)),
                                     ("negative_start", [-1, 9, 8, 26], (0, -1, 0))):
            broken = {**inputs, "cu_seqlens": ("i32", offsets)}
            wgrad(f"{call},break={kind}", broken, {}, "segment_order", where)
            wgrad(f"{call},ld_x=20,break={kind}", broken, {}, "alignment", (4, 20, 8))
        wgrad(call + ",break=misaligned_dw", inputs, {}, "alignment", (7, 8, 16))
        if gathered:
            broken = {**inputs, "x_gather_idx": ("i32", np.where(np.arange(28) < 6, gather, 30))}
            wgrad(call + ",break=gather_high", broken, {}, "gather_range", (6, 30, 30))
        inputs.update({"main_grad": ("f32", grad)} if accumulate else {})
        call += f",accumulate={accumulate}"
        wgrad(call, inputs, {"dw": (out_dtype, dw)})
        table = np.array([[0, 0, 8, 0, 16], [2, 0, 8, 0, 16]])  # M and N are below a tile: whole planes
        wgrad(call + ",sample=2", inputs, {"dw": (out_dtype, dw[[0, 2]])}, samples={"dw": ("i64", table)})


def faults(path):
    """(what the complaint must name, change of the open file) for every part of one golden file."""
    def attribute(of, name, value):
        return lambda file: file[of].attrs.__setitem__(name, value)

    def flipped(array, index):
        array = np.array(array)
        array.reshape(-1).view(np.uint8)[index] ^= 1
        return array

    changes = {"seed": 1, "contract_version": 2, "ignored_ids": 99, "status_where": [99] * 3, "status": "too_large"}
    for name, value in {**dict.fromkeys(("case", "contract", "generator", "op"), "other"), **changes}.items():
        yield f"root attribute {name.replace('_where', '')}", attribute("/", name, value)
    yield "root attribute reason: missing", lambda file: file.attrs.__delitem__("reason")
    yield "/outputs/other: must not be there", lambda file: write_dataset(file, "/outputs/other", "i32", 1)
    with h5py.File(path, "r") as file:
        arrays = {f"/{group}/{name}": np.asarray(data[()]) for group in file for name, data in file[group].items()}
        dtypes = {name: plain(file[name].attrs["dtype"]) for name in arrays}
    for name, array in arrays.items():
        yield f"{name}: sha256", attribute(name, "sha256", "0" * 64)
        yield f"{name}: no description", attribute(name, "description", "")
        yield f"{name}: dtype", attribute(name, "dtype", "i8" if dtypes[name] != "i8" else "i32")
        if name.startswith("/samples/"):
            yield f"{name}: missing", lambda file, n=name: file.__delitem__(n)
            for what, other in (("row 0", array + 1), ("expected i64", array[1:]), ("row 1", array * [[1], [99]])):
                yield f"{name}: {what}", lambda file, n=name, other=other: write_dataset(file, n, "i64", other)
            yield "attribute sampled", attribute("/outputs/dw", "sampled", "/samples/other")
        if name.startswith("/outputs/"):
            places = {0, array.nbytes // 2, array.nbytes - 1} if array.size else ()
            for what, other in [("index", flipped(array, i)) for i in places] + [("shape", array[None])]:
                yield f"{name}: {what}", lambda file, n=name, other=other: write_dataset(file, n, dtypes[n], other)
            yield f"{name}: missing", lambda file, n=name: file.__delitem__(n)


def write_manifests(root, names, digest=None, **extra):
    rows = [(name, digest or file_sha256(os.path.join(root, name))) for name in names]
    with open(os.path.join(root, "SHA256SUMS"), "w", encoding="utf-8") as file:
        file.writelines(f"{digest}  {name}\n" for name, digest in rows)
    with open(os.path.join(root, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump({"files": [{"path": name, "sha256": digest, **extra} for name, digest in rows]}, file)


def self_test():
    """Exit status: the arithmetic, a set made by hand that must be equal, and every planted fault, which must not."""
    failures, checks = contract_tc.self_test(), []

    def expect(good, what):
        checks.append(good)
        if not good:
            print(f"FAIL {what}")

    with tempfile.TemporaryDirectory() as root:
        write_set(root)
        names = [os.path.relpath(path, root) for path in golden_files(root)]
        write_manifests(root, names)
        expect(check_folder(root) == 0, "a good set is not equal")
        lines = []
        check_folder(root, max_macs=100, say=lines.append)
        expect(any("NOT checked, more than 100" in line for line in lines), "skipped files are not reported")
        for name in names:
            path = os.path.join(root, name)
            for complaint, change in faults(path):
                copy = shutil.copy(path, path + ".good")
                with h5py.File(path, "r+") as file:
                    change(file)
                problems = check_file(path, name).problems
                expect(any(complaint in text for text in problems), f"not seen: {name}: {complaint}; seen: {problems}")
                os.replace(copy, path)
        for what, change in {
                "a file not listed": lambda: write_manifests(root, names[1:]),
                "a file listed twice": lambda: write_manifests(root, names + names[:1]),
                "a listed file is gone": lambda: os.rename(path, path + ".gone"),
                "a wrong digest": lambda: write_manifests(root, names, "0" * 64),
                "a wrong attribute": lambda: write_manifests(root, names, contract_version=2),
                "a wrong dataset digest": lambda: write_manifests(root, names, outputs={"out": "0" * 64}),
                "no SHA256SUMS": lambda: os.remove(os.path.join(root, "SHA256SUMS")),
                "no manifest.json": lambda: os.remove(os.path.join(root, "manifest.json")),
                "a truncated file": lambda: os.truncate(os.path.join(root, names[0]), 100)}.items():
            change()
            expect(check_folder(root, say=lines.append) == 1, f"not seen: {what}")
            if os.path.exists(path + ".gone"):
                os.rename(path + ".gone", path)
            write_manifests(root, names)
    failures += checks.count(False)
    print(f"{len(checks)} checks of files made by hand; self-test: {failures or 'no'} failures")
    return 1 if failures else 0


def main(argv):
    parser = argparse.ArgumentParser(description="Re-computes every output of a golden set from the contracts' text.")
    parser.add_argument("folder", nargs="?", help="golden set, searched recursively for .h5 files")
    parser.add_argument("--max-macs", type=int, metavar="N", help="skip wgrad cases of more multiply-adds, and say so")
    parser.add_argument("--no-manifest", action="store_true", help="leave manifest.json and SHA256SUMS out")
    parser.add_argument("--self-test", action="store_true", help="test this program: known answers, planted faults")
    args = parser.parse_args(argv)
    if args.self_test == (args.folder is not None):
        parser.error("give a folder or --self-test")
    if not args.self_test and not os.path.isdir(args.folder):
        parser.error(f"{args.folder} is not a folder")
    return self_test() if args.self_test else check_folder(args.folder, args.max_macs, not args.no_manifest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
