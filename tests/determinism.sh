#!/usr/bin/env bash
# determinism.sh PROGRAM SOURCE BUILD - the same selection gives the same digests: made twice, with 1, 2 and 7 threads,
# with this compiler and with the other one. smoke covers every op; the digest files committed are compared as well.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$2" && pwd)
build=$(cd "$3" && pwd)

digests() { # NAME THREADS PROGRAM
    OMP_NUM_THREADS=$2 "$3" golden make --suite smoke --digests "$scratch/$1.json" >/dev/null 2>&1
}

digests first 1 "$program"
for threads in 1 2 7; do
    digests "threads-$threads" "$threads" "$program"
    expect 0 "" cmp "$scratch/first.json" "$scratch/threads-$threads.json"
done
expect 0 "" cmp "$scratch/first.json" "$source/golden/digests/smoke.json"
for suite in seed arguments; do # standard.sh compares those of standard
    expect 0 "" "$program" golden make --suite "$suite" --digests "$scratch/$suite.json"
    expect 0 "" cmp "$scratch/$suite.json" "$source/golden/digests/$suite.json"
done

# Whole files, not only digests: the same library writes the same bytes.
for copy in one two; do
    "$program" golden make --suite smoke --out "$scratch/$copy" >/dev/null 2>&1
done
expect 0 "" diff -r "$scratch/one" "$scratch/two"

# The other compiler.
if grep -q 'CMAKE_C_COMPILER:.*clang' "$build/CMakeCache.txt"; then other=gcc; else other=clang; fi
if ! command -v "$other" >/dev/null; then
    echo "$other is not installed: the digests of a second compiler were not compared" >&2
    [ "$failed" = 0 ] || exit 1 # what failed before must not read as skipped
    exit 77                     # CTest: skipped
fi
expect 0 "" cmake -S "$source" -B "$build/other-compiler" -DCMAKE_C_COMPILER="$other" -DSAMEBITS_CUDA=OFF \
    -DBUILD_TESTING=OFF -DSAMEBITS_WERROR=ON
expect 0 "" cmake --build "$build/other-compiler" --parallel 2 --target samebits
for threads in 1 7; do
    digests "other-$threads" "$threads" "$build/other-compiler/samebits"
    expect 0 "" cmp "$scratch/first.json" "$scratch/other-$threads.json"
done

finish
