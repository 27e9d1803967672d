#!/usr/bin/env python3
"""Holds the parts of harness/peers.py that need neither torch nor a GPU to what they say.

    peers.py SOURCE             counts, figures, ratios, the table, the order of rounds, what a wrong output does
    peers.py SOURCE LIBRARY     the structures and names by which it calls libsamebits_kernels.so, by calls that are
                                rejected before they reach a GPU
"""
import ctypes
import importlib.util
import os
import re
import statistics
import sys

checked = 0


def hold(what, found, wanted):
    global checked
    checked += 1
    if found != wanted:
        sys.exit(f"peers.py: {what}: {found}, wanted {wanted}")


def load(source):
    spec = importlib.util.spec_from_file_location("samebits_peers", os.path.join(source, "harness", "peers.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- Shapes ----------------------------------------------------------------------------------------------------------


def check_shapes(peers):
    hold("six shapes", len(peers.SHAPES), 6)
    for shape in peers.SHAPES:
        counts = peers.segment_counts(shape)
        hold("segments", len(counts), shape.E)
        hold("their rows", sum(counts), shape.T)
        hold("alignment", {count % 128 for count in counts}, {0})
        hold("skewed ones differ", len(set(counts)) > 1, shape.counts == "skewed")
        hold("a shape by its text", peers.parse_shape(peers.shape_text(shape)), shape)
    hold("the same draw on every machine", peers.segment_counts(peers.SHAPES[1]),
         [6400, 8832, 9984, 13696, 8704, 13184, 768, 3968])
    few = peers.segment_counts(peers.Shape(4, 8, 8, 256, "equal"))
    hold("more segments than blocks", sorted(few), [0, 0, 128, 128])
    hold("a shape by its number", peers.parse_shape("6"), peers.SHAPES[5])
    hold("offsets", peers.offsets_of([128, 0, 256]), [0, 128, 128, 384])
    for text in ("", "0", "7", "E=8", "E=0,M=8,N=8,T=128,counts=equal", "E=1,M=12,N=8,T=128,counts=equal",
                 "E=1,M=8,N=0,T=128,counts=equal", "E=1,M=8,N=8,T=100,counts=equal", "E=1,M=8,N=8,T=0,counts=equal",
                 "E=1,M=8,N=8,T=128,counts=even"):
        try:
            hold(f"'{text}'", peers.parse_shape(text), "an error")
        except ValueError as error:
            hold(f"what is said of '{text}'", bool(str(error)), True)


# ---- Figures ---------------------------------------------------------------------------------------------------------


def check_figures(peers):
    # As bench_stats.c has them: 1 up to 5 samples, then the binomial's.
    hold("ranks", [peers.rank_of_bound(count) for count in (1, 2, 5, 6, 8, 9, 20, 100, 1000)],
         [1, 1, 1, 1, 1, 2, 6, 40, 469])
    figure = peers.figure_of([5, 1, 4, 2, 3, 9, 8, 7, 6, 10, 11])
    hold("a figure", figure, {"median": 6, "low": 2, "high": 10, "min": 1, "max": 11, "samples": 11})
    hold("one sample", peers.figure_of([7])["low"], 7)
    ours, peer = [1.0] * 9, [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8]
    hold("faster", peers.ratio_of(ours, peer), {"value": 2.4, "low": 2.1, "high": 2.7, "verdict": "faster"})
    hold("slower", peers.ratio_of(peer, ours)["verdict"], "slower")
    hold("not resolved", peers.ratio_of([1.0] * 9, [0.9] * 4 + [1.0] + [1.1] * 4)["verdict"], "not resolved here")
    # Both drift by half, together: round by round they are as far apart as ever.
    drift = [1 + i / 18 for i in range(9)]
    hold("drift", peers.ratio_of(drift, [1.25 * t for t in drift])["value"], 1.25)


def row_of(peers, name, ours, out, times, **more):
    return {"name": name, "ours": ours, "out": out, "outcome": "TIMED", "why": "", "times": times, "tflops": 1.0,
            "ms": peers.figure_of(times), "host_ms": 0.01, "bits": {"elements": 4, "differing": 0}, **more}


def result_of(rows, **more):
    return {"shape": "a shape", "why": "", "failed": False, "rows": rows, "rounds": 9, "clock": None,
            "held_to": "the judge", "host_kept_up": True, **more}


def check_table(peers):
    rows = [row_of(peers, "mine", True, "bf16", [1.0] * 9), row_of(peers, "slow", False, "bf16", [3.0] * 9),
            row_of(peers, "fast", False, "bf16", [1.5] * 9, bits={"elements": 4, "differing": 1}),
            row_of(peers, "other type", False, "f32", [0.1] * 9), row_of(peers, "mine", True, "f32", [1.0] * 9),
            {"name": "absent", "ours": False, "out": "bf16", "outcome": "NOT RUN", "why": "no triton", "bits": None},
            row_of(peers, "mine too", True, "bf16", [0.5] * 9)]
    peers.add_ratios(rows)
    ratio = rows[0]["ratio"]
    hold("beside the faster peer of the same type", (ratio["peer"], ratio["value"]), ("fast", 1.5))
    hold("of f32", rows[4]["ratio"]["peer"], "other type")
    hold("peers have no ratio", [row["name"] for row in rows if "ratio" in row], ["mine", "mine", "mine too"])
    lines = peers.table(result_of(rows))
    hold("a line a row, and the head", len(lines), 8)
    hold("one width", len({line.index("same bits") for line in lines if "same bits" in line}), 1)
    hold("mine", "1.500 (1.500..1.500) of fast: faster" in lines[1], True)
    hold("a peer's other bits", "1 differ (25%)" in lines[3], True)
    hold("what was not run", lines[6].split(), ["bf16", "absent", "NOT", "RUN:", "no", "triton"])
    hold("timed", peers.exit_status_of([result_of(rows)]), peers.OK)
    hold("no peer", peers.exit_status_of([result_of([row_of(peers, "mine", True, "bf16", [1.0])])]), peers.NOTHING_RAN)
    hold("no shape", peers.exit_status_of([]), peers.NOTHING_RAN)
    hold("a GPU that failed", peers.exit_status_of([result_of(rows), result_of([], failed=True)]), peers.MISMATCH)
    rows[4]["outcome"] = "FAIL"
    hold("ours wrong", peers.exit_status_of([result_of(rows)]), peers.MISMATCH)
    hold("no clock", "unknown" in peers.clock_text(peers.clock_of([None])), True)
    hold("a clock", peers.clock_text(peers.clock_of([(1500, 690.0), (1400, 700.0), (1600, 680.0)])),
         "SM clock 1500 MHz (1400..1600), 690 W")


# ---- Rounds, on a GPU that only counts -------------------------------------------------------------------------------


class FakeGpu:
    """As much of torch as the timing asks for: events on a clock that calls advance."""

    def __init__(self):
        self.now, self.called = 0.0, []
        gpu = self

        class Event:
            def __init__(self, enable_timing):
                self.at = None

            def record(self):
                self.at = gpu.now

            def query(self):
                return False

            def synchronize(self):
                pass

            def elapsed_time(self, end):
                return end.at - self.at

        self.cuda = type("cuda", (), {"Event": Event, "synchronize": staticmethod(lambda: None)})

    def candidate(self, name, milliseconds, **more):
        def call():
            self.called.append(name)
            self.now += milliseconds

        return {"name": name, "call": call, "outcome": "READY", **more}


def check_rounds(peers):
    gpu = FakeGpu()
    rows = [gpu.candidate("a", 100.0), gpu.candidate("b", 200.0), gpu.candidate("c", 300.0)]
    bench = type("bench", (), {"torch": gpu})
    clocks, kept_up = peers.time_in_turns(bench, rows, 2.0, lambda: (1000, 500.0))
    hold("each one's own time", [statistics.median(row["times"]) for row in rows], [100.0, 200.0, 300.0])
    rounds = {len(row["times"]) for row in rows}
    hold("as many rounds for all, until the seconds are there", rounds, {10})
    hold("one of each a round, another one first each time", gpu.called[:9], list("abc" "bca" "cab"))
    hold("warm-up rounds are not counted", len(gpu.called), 3 * (peers.WARM_UP_ROUNDS + 10 + 1))
    hold("the clock is asked every round", len(clocks), peers.WARM_UP_ROUNDS + 10)
    hold("the host kept up", kept_up, True)
    gpu.cuda.Event.query = lambda event: True
    hold("the host did not keep up", peers.time_in_turns(bench, rows, 0.0, lambda: None)[1], False)
    hold("rounds at the least", len(rows[0]["times"]), peers.MIN_ROUNDS)


class FakeMemory:
    def view(self, dtype):
        return self

    def fill_(self, byte):
        self.byte = byte

    def numel(self):
        return 100


class FakeBench:
    """Of outputs it knows only how many elements differ."""

    def __init__(self, differing, accepted=True):
        self.torch = type("torch", (), {"uint8": None})
        self.written, self.status = {"bf16": FakeMemory()}, FakeMemory()
        self.differing = lambda out, dw: differing
        self.accepted = lambda: accepted


def check_compare(peers):
    def outcome(ours, differing, accepted=True, before=None):
        row = {"name": "a", "ours": ours, "out": "bf16", "outcome": "READY", "why": "", "bits": before}
        bench = FakeBench(differing, accepted)
        row["call"] = lambda: bench.written["bf16"]
        peers.compare(bench, [row])
        hold("memory is poisoned before", bench.written["bf16"].byte, peers.POISON)
        return row["outcome"], row["bits"]["differing"]

    hold("ours, right", outcome(True, 0), ("READY", 0))
    hold("ours, wrong", outcome(True, 3), ("FAIL", 3))
    hold("ours, rejected", outcome(True, 0, accepted=False), ("FAIL", 0))
    hold("a peer's other bits are a result", outcome(False, 3), ("READY", 3))
    hold("the worse of two times stands", outcome(False, 0, before={"differing": 5}), ("READY", 5))


# ---- The library -----------------------------------------------------------------------------------------------------


def check_library(peers, source, path):
    kernels = peers.Kernels(path)
    with open(os.path.join(source, "gpu", "wgrad_varlen_k.h"), encoding="utf-8") as f:
        header = f.read()
    declared = {name or peers.AUTO for name in re.findall(r"struct sb_gpu_result sb_wgrad_varlen_k_?(\w*)\(", header)}
    hold("paths that the header declares and peers.py does not know", declared - {*peers.PATHS, peers.JUDGE}, set())
    hold("what says why not", set(peers.FALLBACKS.values()), set(re.findall(r"\b\w+_fallback(?=\(void\))", header)))
    hold("paths that are not in the library", {name for name in declared if not kernels.has(name)}, set())
    right = {"dy": 1024, "x": 2048, "cu_seqlens": 4096, "T": 128, "Tx": 128, "M": 16, "N": 24, "E": 2, "ld_dy": 16,
             "ld_x": 24, "out_dtype": peers.SB_DTYPE["bf16"]}
    bad_argument, alignment = 8, 6  # enum sb_code
    wrong = {"T": (-1, bad_argument, 1), "Tx": (-3, bad_argument, 2), "M": (0, bad_argument, 3),
             "N": (-8, bad_argument, 4), "E": (0, bad_argument, 5), "ld_dy": (8, bad_argument, 6),
             "ld_x": (16, bad_argument, 7), "out_dtype": (0, bad_argument, 8), "dy": (1026, alignment, 5),
             "x": (2052, alignment, 6), "main_grad": (8196, alignment, 8)}
    for name in sorted(declared):
        launch = kernels.launcher(name)
        for field, (value, code, which) in wrong.items():
            args = peers.WgradArgs(**{**right, field: value})
            result = launch(ctypes.byref(args), 16384, 16, None)
            hold(f"{name} with {field} = {value}", (result.cuda_error, result.status.code, result.status.where[0]),
                 (0, code, which))
            seen = value % 16 if code == alignment else value
            hold(f"what {name} saw of {field}", result.status.where[1], seen)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: peers.py SOURCE [LIBRARY]")
    peers = load(sys.argv[1])
    if len(sys.argv) == 3:
        check_library(peers, sys.argv[1], sys.argv[2])
    else:
        check_shapes(peers)
        check_figures(peers)
        check_table(peers)
        check_rounds(peers)
        check_compare(peers)
    print(f"{checked} checks passed")


if __name__ == "__main__":
    main()
