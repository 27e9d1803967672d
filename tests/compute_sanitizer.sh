#!/usr/bin/env bash
# compute_sanitizer.sh PROGRAM - the smoke suite on the GPU under memcheck, racecheck, initcheck and synccheck.
# Exit status 77 (CTest: skipped) where there is no GPU or no compute-sanitizer.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

if ! have_gpu; then
    echo "no GPU that this build has kernels for: nothing was checked"
    exit 77
fi
export PATH="$PATH:/usr/local/cuda/bin"
if ! command -v compute-sanitizer >/dev/null; then
    echo "compute-sanitizer is not installed: nothing was checked"
    exit 77
fi
for tool in memcheck racecheck initcheck synccheck; do
    # The kernels run in a child of the program; a finding ends it with status 99, which is a FAIL of the case as well.
    expect 0 "PASS" compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 99 \
        --log-file "$scratch/$tool-%p" "$program" check --suite smoke --require gpu --timeout 600
    expect 0 "SUMMARY: 0 " grep -hE "(ERROR|RACECHECK) SUMMARY" "$scratch/$tool"-*
    expect 1 "" grep -hE "SUMMARY: [1-9]" "$scratch/$tool"-*
done

finish
