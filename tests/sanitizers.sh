#!/usr/bin/env bash
# sanitizers.sh PROGRAM SOURCE BUILD - the Check programs and a run of the smoke suite under the address and
# undefined-behaviour sanitizers, without CUDA.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$2" && pwd)
build=$(cd "$3" && pwd)/sanitizers

# What failed comes last, where a report of this script is cut.
checks() {
    ctest --test-dir "$build" --no-tests=error --output-on-failure && return
    grep -hE ':[EF]:' "$build/Testing/Temporary/LastTest.log" | cut -c1-400
    return 1
}

expect 0 "" cmake -S "$source" -B "$build" -DSAMEBITS_CUDA=OFF -DSAMEBITS_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DSAMEBITS_SCRIPT_TESTS=OFF -DBUILD_TESTING=ON
expect 0 "" cmake --build "$build" --parallel 2
expect 0 "" checks
expect 0 "PASS" "$build/samebits" check --suite smoke --device cpu
finish
