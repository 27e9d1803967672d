#!/usr/bin/env bash
# silicon.sh PROGRAM FOLDER - the dot products that were recorded on GPUs (golden/silicon): all of them are there, say
# where they come from, and are what contract TC gives; one flipped bit shows.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
silicon=$2
most_bytes=2000000

expect 0 "PASS: all " "$program" probe --replay "$silicon"
if [ ! -d "$silicon" ]; then
    finish
fi
cp -r "$silicon" "$scratch/silicon"
cd "$scratch"
classes=$("$program" probe --list --json | python3 -c 'import json, sys
for row in json.load(sys.stdin)["classes"]: print(row["class"])')

# Each folder: every class, and by what it was recorded.
find silicon -name about.txt | sort >about
expect 0 "" test -s about
while read -r file; do
    folder=$(dirname "$file")
    for class in $classes; do
        expect 0 "" test -s "$folder/d_${class}_fp32.txt"
    done
    expect 0 "" grep -q '^implementation: ' "$file"
    expect 0 "" grep -qE '^device: .*\(sm_[0-9]+\)$' "$file"
    expect 0 "" grep -qE '^driver: [0-9]' "$file"
    expect 0 "" grep -qE '^operands: seed [0-9]+, ' "$file"
done <about

# Nothing of the machine that it was recorded on, and not much of it.
expect 1 "" grep -rnE '(^|[[:space:]"(])(/|~/|file:)[[:alnum:]_.]' silicon
expect 0 "" test "$(find silicon -type f -exec cat {} + | wc -c)" -le "$most_bytes"

# One flipped bit, a file that is missing, a folder that is empty: never a pass.
while read -r file; do
    folder=$(dirname "$file")
    cp "$folder/d_normal_fp32.txt" kept
    sed -i '3{s/0$/X/;s/1$/0/;s/X$/1/}' "$folder/d_normal_fp32.txt"
    expect 1 "$folder/d_normal_fp32.txt:3" "$program" probe --replay silicon
    cp kept "$folder/d_normal_fp32.txt"
    mv "$folder/c_ties_fp32.txt" kept
    expect 2 "$folder/c_ties_fp32.txt is missing" "$program" probe --replay silicon
    mv kept "$folder/c_ties_fp32.txt"
done <about
expect 0 "PASS: all " "$program" probe --replay silicon
mkdir empty
expect 2 "nothing to replay is no pass" "$program" probe --replay empty

finish
