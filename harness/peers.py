#!/usr/bin/env python3
"""Times the weight gradient's kernels beside what else computes it on the same GPU, in turns, in one process.

    cmake --build build --target samebits_kernels && python3 harness/peers.py

Ours, from libsamebits_kernels.so: every path of wgrad_varlen_k that this GPU can run. The peers, on the same tensors:
cuBLAS by one torch.mm an expert, torch's grouped GEMM, and a plain grouped kernel in Triton (peers_triton.py). It needs
torch with CUDA; what is missing beyond that is left out and named.

Calls are queued a round ahead, one of each in a round and another one first each time: the host is in nobody's way as
long as it keeps up, and the clock that the power limit allows is the same for all. Times are between events on the
stream: medians with the range of the middle 80%. A ratio is the median over rounds of the peer's time by ours, between
the ranks that bound that median with a probability of 95%; a range that holds 1 is not resolved here.

Before and after, every output is compared in all bits with ours, and ours with the library's judge, which uses no
tensor core: on small shapes, and with --judge on all. That ours keep the contract is `samebits check`'s to say.

Exit status: 0 ours and peers were timed; 1 ours differ from the judge or among themselves, or the GPU failed; 2 bad
usage; 3 nothing could be compared: no torch, no GPU, no library; 130 interrupted.
"""
import argparse
import collections
import ctypes
import json
import math
import os
import random
import re
import statistics
import sys
import time

OK, MISMATCH, USAGE, NOTHING_RAN, INTERRUPTED = 0, 1, 2, 3, 130

# ---- Shapes ----------------------------------------------------------------------------------------------------------

Shape = collections.namedtuple("Shape", "E M N T counts")

SHAPES = (
    Shape(8, 7168, 7168, 65536, "equal"),
    Shape(8, 7168, 7168, 65536, "skewed"),
    Shape(8, 3584, 7168, 65536, "equal"),
    Shape(128, 768, 2048, 66560, "skewed"),
    Shape(128, 1536, 4096, 130944, "skewed"),
    Shape(32, 2048, 7168, 65664, "skewed"),
)

ALIGNMENT = 128  # rows of a segment: what torch's grouped GEMM and cuBLAS want, and ours do not
SEED = 5
JUDGED_MACS = 2e11  # the judge is slow: larger shapes only on demand


def shape_text(shape):
    return f"E={shape.E},M={shape.M},N={shape.N},T={shape.T},counts={shape.counts}"


def parse_shape(text):
    """A Shape from the number of a row of SHAPES, from 1, or from the text of one. ValueError says what is wrong."""
    if re.fullmatch(r"\d+", text):
        if not 1 <= int(text) <= len(SHAPES):
            raise ValueError(f"there is no shape {text}: 1 to {len(SHAPES)}, or such as {shape_text(SHAPES[0])}")
        return SHAPES[int(text) - 1]
    match = re.fullmatch(r"E=(\d+),M=(\d+),N=(\d+),T=(\d+),counts=(equal|skewed)", text)
    if not match:
        raise ValueError(f"'{text}' is no shape: a number from 1 to {len(SHAPES)}, or such as {shape_text(SHAPES[0])}")
    shape = Shape(*(int(number) for number in match.groups()[:4]), match[5])
    if not 1 <= shape.E <= 4096 or shape.M < 8 or shape.N < 8 or shape.M % 8 or shape.N % 8:
        raise ValueError(f"'{text}': E is 1 to 4096, M and N are multiples of 8 from 8 on")
    if shape.T < ALIGNMENT or shape.T % ALIGNMENT:
        raise ValueError(f"'{text}': T is a multiple of {ALIGNMENT}")
    return shape


def segment_counts(shape):
    """Rows of each segment, multiples of ALIGNMENT, T together: blocks of it by weight, left over ones to the largest
    remainders. Weights: all the same, or u^2 + 0.05 of uniform u, the same on every machine."""
    draw = random.Random(SEED)
    weights = [1.0 if shape.counts == "equal" else draw.random() ** 2 + 0.05 for _ in range(shape.E)]
    blocks = shape.T // ALIGNMENT
    exact = [blocks * weight / sum(weights) for weight in weights]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(shape.E), key=lambda e: (counts[e] - exact[e], e))
    for e in by_remainder[: blocks - sum(counts)]:
        counts[e] += 1
    return [count * ALIGNMENT for count in counts]


def offsets_of(counts):
    offsets = [0]
    for count in counts:
        offsets.append(offsets[-1] + count)
    return offsets


# ---- Figures ---------------------------------------------------------------------------------------------------------


def rank_of_bound(count):
    """The largest k so that the median lies outside the k-th smallest to the k-th largest of `count` samples with a
    probability of at most 5%; at least 1 (five samples: 6%)."""
    up_to, k = 0.0, 1
    for rank in range(1, count // 2 + 1):
        up_to += math.comb(count, rank - 1) * 0.5**count
        if 2 * up_to > 0.05:
            break
        k = rank
    return k


def figure_of(times):
    """Median, the range of the middle 80%, extremes."""
    ascending = sorted(times)
    last = len(ascending) - 1
    return {"median": statistics.median(ascending), "low": ascending[round(0.1 * last)],
            "high": ascending[round(0.9 * last)], "min": ascending[0], "max": ascending[-1], "samples": len(ascending)}


def ratio_of(ours, peer):
    """How many times as fast as the peer: times of the same rounds, in order."""
    ratios = sorted(p / o for o, p in zip(ours, peer))
    rank = rank_of_bound(len(ratios))
    low, high = ratios[rank - 1], ratios[-rank]
    verdict = "faster" if low > 1 else "slower" if high < 1 else "not resolved here"
    return {"value": statistics.median(ratios), "low": low, "high": high, "verdict": verdict}


def fastest(rows):
    """Of rows that were timed, the one with the lowest median; None of none."""
    timed = [row for row in rows if row["outcome"] == "TIMED"]
    return min(timed, key=lambda row: row["ms"]["median"], default=None)


def add_ratios(rows):
    """To each of ours that was timed, how it stands beside the faster peer that writes the same type."""
    for row in rows:
        peer = fastest(other for other in rows if not other["ours"] and other["out"] == row["out"])
        if row["ours"] and row["outcome"] == "TIMED" and peer:
            row["ratio"] = {"peer": peer["name"], **ratio_of(row["times"], peer["times"])}


def exit_status_of(results):
    rows = [row for result in results for row in result["rows"]]
    if any(result["failed"] for result in results) or any(row["outcome"] == "FAIL" for row in rows):
        return MISMATCH
    return OK if any("ratio" in row for row in rows) else NOTHING_RAN


# ---- Text ------------------------------------------------------------------------------------------------------------


def bits_text(bits):
    if bits is None:
        return "-"
    if bits["differing"] == 0:
        return "same bits"
    return f"{bits['differing']} differ ({100 * bits['differing'] / bits['elements']:.2g}%)"


def ratio_text(row):
    if "ratio" not in row:
        return ""
    ratio = row["ratio"]
    return f"{ratio['value']:.3f} ({ratio['low']:.3f}..{ratio['high']:.3f}) of {ratio['peer']}: {ratio['verdict']}"


def table(result):
    """The lines of one shape's table."""
    head = ("out", "by", "ms", "10%..90%", "TFLOP/s", "host ms", "bits", "times as fast as the faster peer")
    lines = [head]
    for row in result["rows"]:
        if row["outcome"] != "TIMED":
            lines.append((row["out"], row["name"], f"{row['outcome']}: {row['why']}"))
            continue
        ms = row["ms"]
        lines.append((row["out"], row["name"], f"{ms['median']:.4f}", f"{ms['low']:.4f}..{ms['high']:.4f}",
                      f"{row['tflops']:.1f}", f"{row['host_ms']:.3f}", bits_text(row["bits"]), ratio_text(row)))
    widths = [max(len(line[column]) for line in lines if len(line) > 3) for column in range(len(head))]
    widths[1] = max(len(line[1]) for line in lines)
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() if len(line) > 3 else
            "  ".join((line[0].ljust(widths[0]), line[1].ljust(widths[1]), line[2])) for line in lines]


def clock_text(clock):
    if not clock:
        return "SM clock unknown (no NVML)"
    return (f"SM clock {clock['mhz']['median']:.0f} MHz ({clock['mhz']['low']:.0f}..{clock['mhz']['high']:.0f}), "
            f"{clock['watts']['median']:.0f} W")


def print_result(result):
    print(f"\n{result['shape']}")
    if result["why"]:
        print(f"  {'FAIL' if result['failed'] else 'NOT RUN'}: {result['why']}")
        return
    print(f"  {result['rounds']} rounds; {clock_text(result['clock'])}; ours held to {result['held_to']}")
    if not result["host_kept_up"]:
        print("  the host did not keep up with the GPU: its time is in these figures")
    for line in table(result):
        print("  " + line)
    sys.stdout.flush()


# ---- The GPU's clock -------------------------------------------------------------------------------------------------


class Nvml:
    """Clock and power of one GPU, from the driver's own library; sample() is None where there is none to ask."""

    SM_CLOCK = 1

    def __init__(self, uuid):
        self.device = None
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
            device = ctypes.c_void_p()
            if library.nvmlInit_v2() == 0 and \
                    library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(device)) == 0:
                self.library, self.device = library, device
        except (OSError, AttributeError):
            pass

    def sample(self):
        mhz, milliwatts = ctypes.c_uint(), ctypes.c_uint()
        if self.device is None or \
                self.library.nvmlDeviceGetClockInfo(self.device, self.SM_CLOCK, ctypes.byref(mhz)) != 0 or \
                self.library.nvmlDeviceGetPowerUsage(self.device, ctypes.byref(milliwatts)) != 0:
            return None
        return mhz.value, milliwatts.value / 1000


def clock_of(samples):
    samples = [sample for sample in samples if sample]
    if not samples:
        return None
    return {"mhz": figure_of([mhz for mhz, _ in samples]), "watts": figure_of([watts for _, watts in samples])}


# ---- Ours ------------------------------------------------------------------------------------------------------------


class Status(ctypes.Structure):
    """struct sb_status"""
    _fields_ = [("code", ctypes.c_int32), ("reserved", ctypes.c_int32), ("where", ctypes.c_int64 * 3),
                ("ignored", ctypes.c_int64)]


class GpuResult(ctypes.Structure):
    """struct sb_gpu_result"""
    _fields_ = [("cuda_error", ctypes.c_int), ("status", Status)]


class WgradArgs(ctypes.Structure):
    """struct sb_wgrad_args"""
    _fields_ = [(name, ctypes.c_void_p) for name in ("dy", "x", "cu_seqlens", "x_gather_idx", "main_grad")] + \
               [(name, ctypes.c_int64) for name in ("T", "Tx", "M", "N", "E", "ld_dy", "ld_x")] + \
               [("out_dtype", ctypes.c_int)]


SB_DTYPE = {"f32": 4, "bf16": 5}  # enum sb_dtype

JUDGE, AUTO = "judge", "auto"
# Paths of wgrad_varlen_k, and the compute capabilities (major, minor) that each is written for.
PATHS = {
    "wgmma": lambda capability: capability == (9, 0),
    "tcgen05": lambda capability: capability[0] == 10,
    "mma_sync": lambda capability: capability >= (9, 0),
    AUTO: lambda capability: capability >= (9, 0),
}
# Functions that say why a path is not to be used, or what serves in its place; NULL: nothing is wrong.
FALLBACKS = {"tcgen05": "sb_wgrad_tcgen05_fallback", AUTO: "sb_wgrad_varlen_k_fallback"}
NO_KERNEL_IMAGE = 209  # cudaErrorNoKernelImageForDevice


class CannotRun(Exception):
    """Why a candidate, or everything, cannot be run here."""


class Kernels:
    """The typed launch functions of gpu/wgrad_varlen_k.h."""

    def __init__(self, path):
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise CannotRun(f"{path} could not be loaded: {error}") from error

    @staticmethod
    def symbol(name):
        return "sb_wgrad_varlen_k" + ("" if name == AUTO else "_" + name)

    def has(self, name):
        return hasattr(self.library, self.symbol(name))

    def fallback(self, name):
        """What the library says of the path on the current device, or None."""
        if name not in FALLBACKS or not self.has(name):
            return None
        function = getattr(self.library, FALLBACKS[name])
        function.restype = ctypes.c_char_p
        text = function()
        return text.decode() if text else None

    def launcher(self, name):
        function = getattr(self.library, self.symbol(name))
        function.restype = GpuResult
        function.argtypes = [ctypes.POINTER(WgradArgs), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return function


# ---- One shape -------------------------------------------------------------------------------------------------------


class Bench:
    """Tensors of one shape, and what can be run on them. Results of one type all go to the same memory: they are
    compared one by one with `expected`."""

    def __init__(self, torch, kernels, shape):
        self.torch, self.kernels, self.shape = torch, kernels, shape
        generator = torch.Generator(device="cuda").manual_seed(SEED)
        counts = segment_counts(shape)

        def draw(columns):
            return torch.randn(shape.T, columns, device="cuda", dtype=torch.bfloat16, generator=generator)

        self.dy, self.x = draw(shape.M), draw(shape.N)
        self.offsets = offsets_of(counts)
        self.cu_seqlens = torch.tensor(self.offsets, device="cuda", dtype=torch.int32)
        self.ends = self.cu_seqlens[1:].contiguous()
        self.status = torch.zeros(ctypes.sizeof(Status), device="cuda", dtype=torch.uint8)
        self.expected, self.written = {}, {}
        for out, dtype in self.dtypes().items():
            self.expected[out] = torch.empty(shape.E, shape.M, shape.N, device="cuda", dtype=dtype)
            self.written[out] = torch.empty_like(self.expected[out])

    def dtypes(self):
        return {"bf16": self.torch.bfloat16, "f32": self.torch.float32}

    def pairs(self, dw):
        """(dy transposed, x, dw) of each expert."""
        segments = zip(self.offsets, self.offsets[1:])
        return [(self.dy[begin:end].t(), self.x[begin:end], dw[e]) for e, (begin, end) in enumerate(segments)]

    # Each of these returns a function that queues one computation and returns dw, or raises CannotRun.

    def ours(self, path, out, dw=None):
        if path in PATHS and not PATHS[path](self.torch.cuda.get_device_capability()):
            raise CannotRun("not for this GPU")
        fallback = self.kernels.fallback(path)
        if fallback and path != AUTO:
            raise CannotRun(fallback)
        shape = self.shape
        dw = self.written[out] if dw is None else dw
        args = WgradArgs(dy=self.dy.data_ptr(), x=self.x.data_ptr(), cu_seqlens=self.cu_seqlens.data_ptr(),
                         T=shape.T, Tx=shape.T, M=shape.M, N=shape.N, E=shape.E, ld_dy=shape.M, ld_x=shape.N,
                         out_dtype=SB_DTYPE[out])
        launch = self.kernels.launcher(path)

        def call():
            result = launch(ctypes.byref(args), dw.data_ptr(), self.status.data_ptr(),
                            self.torch.cuda.current_stream().cuda_stream)
            if result.cuda_error == NO_KERNEL_IMAGE:
                raise CannotRun("the library has no image for this GPU")
            if result.cuda_error or result.status.code:
                raise RuntimeError(f"the launch failed: CUDA error {result.cuda_error}, status {result.status.code}")
            return dw

        return call

    def cublas(self, out):
        dw = self.written[out]
        pairs = self.pairs(dw)
        mm = self.torch.mm

        def call_bf16():
            for dy, x, expert in pairs:
                mm(dy, x, out=expert)
            return dw

        def call_f32():
            for dy, x, expert in pairs:
                mm(dy, x, out_dtype=self.torch.float32, out=expert)
            return dw

        return call_bf16 if out == "bf16" else call_f32

    def grouped_mm(self, out):
        if not hasattr(self.torch, "_grouped_mm"):
            raise CannotRun("this torch has no _grouped_mm")
        dy, dtype = self.dy.t(), self.dtypes()[out]
        return lambda: self.torch._grouped_mm(dy, self.x, offs=self.ends, out_dtype=dtype)

    def triton(self, out):
        try:
            import peers_triton
        except ImportError as error:
            raise CannotRun(f"no triton: {error}") from error
        dw = self.written[out]

        def call_with(config):
            return lambda: peers_triton.launch(config, self.dy, self.x, self.cu_seqlens, dw) or dw

        calls = [call_with(config) for config in peers_triton.CONFIGS]
        return min(calls, key=self.quick_time)

    def quick_time(self, call):
        """Milliseconds of the best of three runs after the first."""
        call()
        return min(elapsed(self.torch, call) for _ in range(3))

    def differing(self, out, dw):
        """Elements of dw whose bits are not those of `expected`."""
        as_bits = self.torch.int16 if out == "bf16" else self.torch.int32
        found = self.torch.zeros((), device="cuda", dtype=self.torch.int64)
        for mine, right in zip(dw, self.expected[out]):
            found += (mine.view(as_bits) != right.view(as_bits)).sum()
        return int(found)

    def accepted(self):
        """Did the status word of the call before say so?"""
        return int(self.status.view(self.torch.int32)[0]) == 0


def elapsed(torch, call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def candidates_of(bench):
    """(name, ours, out, function of bench that makes the call)."""
    every = []
    paths = [path for path in PATHS if bench.kernels.has(path)]
    for out in bench.dtypes():
        every += [(f"samebits {path}", True, out, lambda path=path, out=out: bench.ours(path, out)) for path in paths]
        every += [("cuBLAS per expert", False, out, lambda out=out: bench.cublas(out)),
                  ("torch._grouped_mm", False, out, lambda out=out: bench.grouped_mm(out)),
                  ("Triton", False, out, lambda out=out: bench.triton(out))]
    return every


def one_line(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]


def prepare(bench):
    """The rows of the table: those that could run once have a `call`."""
    rows = []
    for name, ours, out, make in candidates_of(bench):
        row = {"name": name, "ours": ours, "out": out, "outcome": "NOT RUN", "why": "", "bits": None}
        rows.append(row)
        try:
            call = make()
            call()
            bench.torch.cuda.synchronize()
            row["call"], row["outcome"] = call, "READY"
        except CannotRun as error:
            row["why"] = str(error)
        except Exception as error:  # a peer may refuse in any way it likes: that is its result
            row["why"] = one_line(error)
            if ours:
                row["outcome"] = "FAIL"
    return rows


def ready(rows):
    return [row for row in rows if row["outcome"] == "READY"]


def expect_outputs(bench, rows, judged):
    """Fills `expected` of each type: by the judge, or by the first of ours. Returns whose they are, in words."""
    held_to = "one another"
    for out, dw in bench.expected.items():
        if judged and bench.kernels.has(JUDGE):
            bench.ours(JUDGE, out, dw)()
            held_to = "the judge"
        else:
            first = next((row for row in ready(rows) if row["ours"] and row["out"] == out), None)
            if first:
                dw.copy_(first["call"]())
    bench.torch.cuda.synchronize()
    return held_to


POISON = 0xA5


def compare(bench, rows):
    """Runs every row once on poisoned memory and counts differing elements; more of them than at an earlier time stand.
    Of ours none may differ."""
    for row in ready(rows):
        bench.written[row["out"]].view(bench.torch.uint8).fill_(POISON)
        bench.status.fill_(POISON)
        dw = row["call"]()
        differing = bench.differing(row["out"], dw)
        before = row["bits"]["differing"] if row["bits"] else 0
        row["bits"] = {"elements": dw.numel(), "differing": max(before, differing)}
        if row["ours"] and not bench.accepted():
            row.update(outcome="FAIL", why="the call was rejected on the GPU")
        elif row["ours"] and differing:
            row.update(outcome="FAIL", why=bits_text(row["bits"]))


def queue_round(torch, rows, first):
    """Queues one call of every row, `first` first. Returns a list of (row, begin, end, host milliseconds)."""
    queued = []
    for row in rows[first:] + rows[:first]:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        host = time.perf_counter()
        begin.record()
        row["call"]()
        end.record()
        queued.append((row, begin, end, (time.perf_counter() - host) * 1000))
    return queued


WARM_UP_ROUNDS = 3
MIN_ROUNDS = 7
MAX_ROUNDS = 1000


def time_in_turns(bench, rows, seconds, sample_clock):
    """Adds `times` and `host_times` to the rows; a round more is always queued than has ended. Returns the samples of
    the clock and whether the host kept ahead of the GPU."""
    running, clocks, late, spent = None, [], 0, 0.0
    for row in rows:
        row["times"], row["host_times"] = [], []
    for number in range(WARM_UP_ROUNDS + MAX_ROUNDS + 1):
        queued = queue_round(bench.torch, rows, number % len(rows))
        if running:
            late += running[-1][2].query()  # it had nothing left to do
            clocks.append(sample_clock())
            running[-1][2].synchronize()
            if number > WARM_UP_ROUNDS:
                for row, begin, end, host in running:
                    row["times"].append(begin.elapsed_time(end))
                    row["host_times"].append(host)
                    spent += row["times"][-1] / 1000
        running = queued
        rounds = number - WARM_UP_ROUNDS
        if rounds >= MIN_ROUNDS and spent >= seconds * len(rows):
            break
    bench.torch.cuda.synchronize()
    return clocks, late <= number // 10


def run_shape(torch, kernels, shape, options, nvml):
    """One shape's part of the result."""
    macs = shape.T * shape.M * shape.N
    result = {"shape": shape_text(shape), "macs": macs, "why": "", "rows": [], "rounds": 0, "clock": None,
              "held_to": "", "host_kept_up": True, "failed": False}
    try:
        bench = Bench(torch, kernels, shape)
        rows = result["rows"] = prepare(bench)
        result["held_to"] = expect_outputs(bench, rows, options.judge or macs <= JUDGED_MACS)
        compare(bench, rows)
        timed = ready(rows)
        if timed:
            clocks, result["host_kept_up"] = time_in_turns(bench, timed, options.seconds, nvml.sample)
            result["clock"], result["rounds"] = clock_of(clocks), len(timed[0]["times"])
            compare(bench, timed)
    except torch.cuda.OutOfMemoryError:
        return {**result, "rows": [], "why": "the GPU's memory does not hold this shape's tensors"}
    except RuntimeError as error:  # of the GPU: nothing more can be done with it in this process
        return {**result, "rows": [], "why": one_line(error), "failed": True}
    for row in ready(rows):
        row.update(outcome="TIMED", ms=figure_of(row["times"]), host_ms=statistics.median(row["host_times"]))
        row["tflops"] = 2 * macs / row["ms"]["median"] * 1e-9
    add_ratios(rows)
    return result


# ---- The program -----------------------------------------------------------------------------------------------------


def positive_seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number from 0 to 3600")
    return seconds


def shape_argument(text):
    try:
        return parse_shape(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def default_library():
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.join(os.environ.get("SAMEBITS_BUILD", os.path.join(source, "build")), "libsamebits_kernels.so")


def parse_arguments(argv):
    text = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(prog="peers.py", description=text[0], epilog="\n\n".join(text[1:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", type=shape_argument, metavar="SHAPE",
                        help="a number from 1 to 6, or such as " + shape_text(SHAPES[3]) + "; may be given again; "
                             "default: all six")
    parser.add_argument("--seconds", type=positive_seconds, default=1.0, help="of GPU time each (default 1)")
    parser.add_argument("--judge", action="store_true", help="hold ours to the judge on large shapes, too")
    parser.add_argument("--library", metavar="FILE", help="default: " + os.path.relpath(default_library()))
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(argv)
    if options.library and not os.path.exists(options.library):
        parser.error(f"--library {options.library}: there is no such file")
    return options


def import_torch():
    try:
        import torch
    except ImportError as error:
        raise CannotRun(f"torch is not there ({error}): install it with CUDA, such as by pip install torch") from error
    if not torch.cuda.is_available():
        raise CannotRun("torch finds no GPU")
    return torch


def open_kernels(options):
    path = options.library or default_library()
    if not os.path.exists(path):
        raise CannotRun(f"{path} is not built: cmake --build {os.path.relpath(os.path.dirname(path))} "
                        "--target samebits_kernels (in a build with CUDA)")
    return Kernels(os.path.abspath(path))


def version_of(module):
    try:
        return __import__(module).__version__
    except ImportError:
        return None


def machine_of(torch):
    device = torch.cuda.get_device_properties(0)
    return {"gpu": device.name, "compute_capability": [device.major, device.minor],
            "multiprocessors": device.multi_processor_count, "torch": torch.__version__, "cuda": torch.version.cuda,
            "triton": version_of("triton")}


def for_json(result):
    rows = [{key: value for key, value in row.items() if key not in ("call", "times", "host_times")}
            for row in result["rows"]]
    return {**result, "rows": rows}


def main(argv):
    options = parse_arguments(argv)
    try:
        torch = import_torch()
        kernels = open_kernels(options)
        machine = {**machine_of(torch), "fallback": kernels.fallback(AUTO)}
    except CannotRun as error:
        print(f"peers.py: nothing was timed: {error}", file=sys.stderr)
        return NOTHING_RAN
    if not options.json:
        print(f"{machine['gpu']}, {machine['multiprocessors']} multiprocessors; torch {machine['torch']}, triton "
              f"{machine['triton'] or 'not there'}; at least {options.seconds:g} s each, in turns")
        if machine["fallback"]:
            print(f"auto is mma_sync here: {machine['fallback']}")
    nvml, results = Nvml(getattr(torch.cuda.get_device_properties(0), "uuid", "")), []
    for shape in options.shape or SHAPES:
        results.append(run_shape(torch, kernels, shape, options, nvml))
        if not options.json:
            print_result(results[-1])
        if results[-1]["failed"]:
            break
        torch.cuda.empty_cache()
    status = exit_status_of(results)
    if options.json:
        print(json.dumps({"kind": "peers", "machine": machine, "seconds": options.seconds,
                          "shapes": [for_json(result) for result in results], "exit_status": status}))
    if status == NOTHING_RAN:
        print("peers.py: nothing was compared: see the reasons above", file=sys.stderr)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
