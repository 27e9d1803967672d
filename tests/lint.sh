#!/usr/bin/env bash
# lint.sh PROGRAM SOURCE BUILD - clang-format and clang-tidy over the C files, shellcheck over the scripts.
# Exit status 77 (CTest: skipped) where a tool is missing or of another version than the files are formatted with.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$2"
compile_commands=$3
skipped=""

if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    expect 0 "" clang-format --dry-run -Werror {ref,golden,gpu,harness,reports,tests}/*.[ch] gpu/*.cu gpu/*.cuh
else
    skipped="clang-format 14"
fi
if command -v clang-tidy >/dev/null; then
    for folder in ref golden harness reports; do
        # shellcheck disable=SC2016 # expanded by the inner shell
        expect 0 "" sh -c 'printf "%s\n" "$1"/*.c | xargs -P 2 -n 4 clang-tidy --quiet -p "$2"' lint "$folder" \
            "$compile_commands"
    done
else
    skipped="$skipped clang-tidy"
fi
if command -v shellcheck >/dev/null; then
    expect 0 "" shellcheck -x harness/gate harness/test harness/setup.sh .ci/run tests/*.sh
else
    skipped="$skipped shellcheck"
fi

if [ -n "$skipped" ]; then
    echo "not installed, so not checked: $skipped" >&2
    [ "$failed" = 0 ] || exit 1
    exit 77
fi
finish
