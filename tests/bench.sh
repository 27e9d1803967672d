#!/usr/bin/env bash
# bench.sh PROGRAM - `samebits bench` as its users call it: the table, the JSON, the exit statuses. No figure is judged:
# a busy machine is no failure. Kernels are timed where there is a GPU; elsewhere it is said that there is none.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$scratch"
small='wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5'
larger='wgrad_varlen_k/M=128,N=128,E=2,counts=equal,tokens=1024'
quick=(--seconds 0.01)

# The table: what was timed, on what, beside what.
expect 0 "GMAC/s" "$program" bench --case "$small" "${quick[@]}"
expect 0 "; contract wgrad_varlen_k/tc-bf16-k16-f25 1" "$program" bench --case "$small" "${quick[@]}"
expect 0 "" sh -c "\"$program\" bench --case '$small' ${quick[*]} | grep -qE '^samebits [0-9.]+, commit [^ ;]+; contract '"
expect 0 "fma peak" "$program" bench --case "$small" "${quick[@]}"
expect 0 "all 8640 outputs with the plain reference" "$program" bench --case "$small" "${quick[@]}"
expect 0 "plain: sampled tiles" "$program" bench --case "$larger" "${quick[@]}" --path plain
expect 0 "E128, skewed" "$program" bench --case 'wgrad_varlen_k/M=96,N=128,E=128,*' "${quick[@]}" --threads 1
expect 0 "threads 1" "$program" bench --op wgrad_varlen_k --impl ref --case "$small" "${quick[@]}" --threads 1
refuse "  avx2 " "$program" bench --case "$small" "${quick[@]}" --path plain
"$program" bench --case "$small" "${quick[@]}" --threads all,1,1 >table 2>/dev/null
expect 0 "" grep -qE '^  plain +1 +[0-9.]+ +[0-9.]+\.\.[0-9.]+ +[0-9.]+% ' table
# Whatever a machine lacks is named, with the reason.
for path in plain avx2 avx512; do
    expect 0 "" grep -qE "^  $path +([0-9]|NOT RUN: )" table
done

# Too large to be computed plainly: what is compared is told before that starts, and so is what takes long.
if grep -qE '^  avx2 +[0-9]' table; then
    "$program" bench --case 'wgrad_varlen_k/M=4096,N=4096,E=1,counts=equal,tokens=1024,sample=128' "${quick[@]}" \
        >large 2>&1 &
    bench=$!
    for ((i = 0; i < 600; i++)); do
        if grep -q "^bench: " large || ! kill -0 $bench 2>/dev/null; then break; fi
        sleep 0.1
    done
    cp large by_then
    kill $bench 2>/dev/null || true
    wait $bench 2>/dev/null || true
    expect 0 "17.2 GMAC; compared after every run: 256 sampled tiles" cat by_then
    expect 0 "bench: case 1 of 1: the plain reference computes 256 sampled tiles" cat by_then
    refuse "of peak" cat by_then
fi

# The JSON: one object with every figure, and the figures agree with each other.
"$program" bench --json --case "$small" --case "$larger" "${quick[@]}" >bench.json 2>/dev/null
cat >figures.py <<'END'
import json
bench = json.load(open("bench.json"))
assert bench["op"] == "wgrad_varlen_k" and bench["impl"] == "ref" and bench["unit"] == "GMAC/s"
assert bench["version"] and bench["commit"] and bench["contract"] == "wgrad_varlen_k/tc-bf16-k16-f25"
assert bench["exit_status"] == 0 and bench["min_samples"] == 5 and bench["machine"]["processors"] >= 1
assert [case["macs"] for case in bench["cases"]] == [22 * 72 * 40, 1024 * 128 * 128]
for case in bench["cases"]:
    timed = {(row["path"], row["threads"]): row for row in case["rows"] if row["outcome"] == "TIMED"}
    assert ("plain", 1) in timed and ("fma peak", 1) in timed
    for (path, threads), row in timed.items():
        rate = row["rate"]
        assert rate["samples"] >= 5
        assert 0 < rate["min"] <= rate["low"] <= rate["median"] <= rate["high"] <= rate["max"]
        assert abs(rate["per_thread"] * threads / rate["median"] - 1) < 1e-9
        assert (row["efficiency"] is not None) == (threads > 1)
        if path != "fma peak":
            peak = timed["fma peak", threads]["rate"]["median"]
            assert abs(row["of_peak"]["value"] * peak / rate["median"] - 1) < 1e-9
        if path not in ("fma peak", "plain"):
            plain = timed["plain", threads]["rate"]
            assert abs(row["to_yardstick"]["value"] * plain["median"] / rate["median"] - 1) < 1e-9
            apart = rate["low"] > plain["high"] or rate["high"] < plain["low"]
            assert row["to_yardstick"]["resolved"] == apart
    for row in case["rows"]:
        assert (row["rate"] is None) == (row["outcome"] != "TIMED") == (row["reason"] != "")
END
expect 0 "" python3 figures.py

# The kernels: on a GPU with figures, without one with the reason, and never with a status that reads as timed.
sampled='wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,sample=12'
status=0
"$program" bench --impl gpu --case "$small" --case "$sampled" "${quick[@]}" >kernels 2>&1 || status=$?
"$program" bench --impl gpu --json --case "$small" --case "$sampled" "${quick[@]}" >gpu.json 2>/dev/null || true
cat >gpu.py <<'END'
import json, sys
bench = json.load(open("gpu.json"))
assert bench["impl"] == "gpu" and bench["unit"] == "TFLOP/s" and str(bench["exit_status"]) == sys.argv[1]
rows = {(case["case"], row["path"]): row for case in bench["cases"] for row in case["rows"]}
assert {path for _, path in rows} >= {"mma_sync"}
for row in rows.values():
    assert row["threads"] is None and row["efficiency"] is None
    assert (row["rate"] is None) == (row["outcome"] != "TIMED") == (row["reason"] != "")
    assert row["rate"] is None or row["rate"]["processor"] is None
gpu = bench["machine"]["gpu"]
assert (gpu is None) == (bench["exit_status"] == 3)
if gpu is not None:
    assert gpu["compute_capability"] >= 75 and gpu["l2_bytes"] > 0
    for case in bench["cases"]:
        assert rows[case["case"], "peak"]["outcome"] == "TIMED"
END
if have_gpu; then
    expect 0 "" test "$status" = 0
    expect 0 "GPU 0: " cat kernels
    expect 0 "" grep -qE '^  mma_sync +[0-9.]+ +[0-9.]+\.\.[0-9.]+ +[0-9.]+% ' kernels
    expect 0 "peak: " cat kernels
    expect 3 "there is no GPU 63" "$program" bench --impl gpu --case "$small" --device 63
else
    expect 0 "" test "$status" = 3
    expect 0 "" grep -qE 'nothing was timed: .* by mma_sync: (built without CUDA|no |GPU |the NVIDIA driver)' kernels
    expect 0 "" grep -qE '^  mma_sync +NOT RUN: ' kernels
    refuse " ms a run " cat kernels
fi
expect 0 "" python3 gpu.py "$status"
expect 2 "gpu of wgrad_varlen_k has none" "$program" bench --impl gpu --threads 1
expect 2 "ref of wgrad_varlen_k runs on the CPU" "$program" bench --device 0
expect 2 "expected the number of a GPU" "$program" bench --impl gpu --device all
expect 2 "nearest: mma_sync" "$program" bench --impl gpu --path mma_snyc
expect 2 "gpu of wgrad_varlen_k has no 'avx2'" "$program" bench --impl gpu --path avx2

# What cannot be timed.
expect 3 "every segment is empty" "$program" bench --case 'wgrad_varlen_k/M=24,N=24,E=4,counts=empty' "${quick[@]}"
expect 3 "the call is rejected" "$program" bench --case 'wgrad_varlen_k/M=12,N=24,E=2,counts=10+20' "${quick[@]}"
if [ "$(nproc)" -gt 1 ]; then
    expect 3 "NOT RUN: OpenMP gives 1 thread, not" env OMP_THREAD_LIMIT=1 "$program" bench --case "$small" \
        "${quick[@]}" --threads all
    expect 0 "NOT RUN: OpenMP gives 1 thread, not" env OMP_THREAD_LIMIT=1 "$program" bench --case "$small" "${quick[@]}"
fi
for path in avx2 avx512; do
    status=0
    "$program" bench --case "$small" "${quick[@]}" --path $path >one 2>&1 || status=$?
    if grep -q "NOT RUN: this processor lacks" one; then # it cannot here, and says so
        expect 0 "" test "$status" = 3
    else
        expect 0 "" test "$status" = 0
        expect 0 "" grep -qE "^  $path +1 +[0-9]" one
        expect 1 "" grep -qE "^  plain +[0-9]" one # only what was named
    fi
done

expect 0 "" sh -c "\"$program\" bench --limit 1 --path plain --threads 1 ${quick[*]} | grep -c counts= | grep -qx 1"

# Bad usage.
expect 2 "what can: wgrad_varlen_k with --impl ref" "$program" bench --op scale_pack
expect 2 "what can: wgrad_varlen_k with --impl ref" "$program" bench --op no_such_op
expect 2 "what can: wgrad_varlen_k with --impl ref" "$program" bench --impl mma_sync
expect 2 "scale_pack" "$program" bench --case 'scale_pack/*'
expect 2 "nearest: avx2" "$program" bench --path avx3
expect 2 "expected all, or from 1 to" "$program" bench --threads 0
expect 2 "expected all, or from 1 to" "$program" bench --threads 100000
expect 2 "expected all, or from 1 to" "$program" bench --threads 1x
expect 2 "is empty" "$program" bench --threads ,
expect 2 "expected a number from 0 to 3600" "$program" bench --seconds nan
expect 2 "expected a number from 0 to 3600" "$program" bench --seconds=-1
expect 2 "expected a number from 0 to 3600" "$program" bench --seconds 1s
expect 2 "no case" "$program" bench --case 'wgrad_varlen_k/M=eight'
expect 2 "stray" "$program" bench wgrad_varlen_k
expect 2 "--help" "$program" bench --no-such-option
expect 0 "not resolved" "$program" bench --help
expect 0 "94 of 100" "$program" bench --help # what five samples give
expect 0 "Without --suite or --case the implementation's own" "$program" bench --help
expect 0 "E=8,counts=skewed" "$program" bench --op wgrad_varlen_k --limit 2 --path plain --threads 1 --seconds 0
if [ -w /dev/full ]; then
    # shellcheck disable=SC2016 # expanded by the inner shell
    expect 2 "could not be written" sh -c '"$1" bench --json --case "$2" --seconds 0 >/dev/full' sh "$program" "$small"
fi

finish
