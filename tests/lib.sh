#!/usr/bin/env bash
# lib.sh - for the test scripts: runs a command, holds it to an exit status and to words in what it prints.
# Sourced with the program as $1. Each script ends with `finish`, which fails when a check failed or none ran.

# shellcheck disable=SC2034 # the scripts use it
program=$(realpath "$1")
passed=0
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Is there a GPU that this build has kernels for? Whether they are right is another question.
have_gpu() {
    local status=0
    "$program" check --suite smoke --op e8m0_upcast --device 0 >/dev/null 2>&1 || status=$?
    [ "$status" != 3 ]
}

# expect STATUS "WORDS" COMMAND...: WORDS must appear in what the command prints ("" for none demanded).
expect() {
    local wanted=$1 words=$2 status=0 output
    shift 2
    output=$("$@" 2>&1 </dev/null) || status=$?
    if [ "$status" = "$wanted" ] && { [ -z "$words" ] || grep -qF -- "$words" <<<"$output"; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: exit status %s (wanted %s)%s: %s\n%s\n' "$status" "$wanted" "${words:+, wanted the words «$words»}" \
            "$*" "$(tail -n 15 <<<"$output")" >&2
    fi
}

# refuse "WORDS" COMMAND...: WORDS must not appear, whatever the exit status.
refuse() {
    local words=$1 output
    shift
    output=$("$@" 2>&1 </dev/null) || true
    if grep -qF -- "$words" <<<"$output"; then
        failed=$((failed + 1))
        printf 'FAILED: printed «%s»: %s\n' "$words" "$*" >&2
    else
        passed=$((passed + 1))
    fi
}

finish() {
    printf '%s passed, %s failed\n' "$passed" "$failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
