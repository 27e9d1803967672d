#!/usr/bin/env bash
# probe.sh PROGRAM - the verb probe: statuses, planted arithmetics, recorded dot products.
# SAMEBITS_SILICON names a folder of recorded dot products to replay, such as model_validation/ of
# github.com/north-numerical-computing/MATLAB-tensor-core at b12b5a700957655375a1b0c1d0c26e76065da015 (B200, H100 and
# H200 in BF16); without it that part is skipped.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
silicon=${SAMEBITS_SILICON:-}
[ -z "$silicon" ] || silicon=$(realpath "$silicon")
cd "$scratch"
few="--count 1000"

# Usage.
expect 0 "--replay DIR" "$program" probe --help
expect 2 "--help" "$program" probe --no-such-option
expect 2 "nearest: normal" "$program" probe --class norml
expect 2 "there is no 'mma'" "$program" probe --impl mma
expect 2 "--count" "$program" probe --count 0
expect 2 "--seed" "$program" probe --seed -1
expect 2 "is empty" "$program" probe --class normal,
expect 2 "--seed does not go with it" "$program" probe --replay . --seed 2
expect 2 "--capture does not go with it" "$program" probe --list --capture x
expect 0 "zero-partners" "$program" probe --list
expect 0 "model:24-bits" "$program" probe --list
expect 0 '"reason"' "$program" probe --list --json

# What ran, and what that is worth.
# shellcheck disable=SC2086 # two words
{
    expect 3 "LESS THAN REQUIRED: --impl names wgmma" "$program" probe --impl model,wgmma $few
    expect 3 "NOTHING RAN" "$program" probe --impl wgmma $few
    expect 3 "it is the yardstick" "$program" probe --impl plain $few
    refuse "PASS" "$program" probe --impl plain $few
    expect 0 "PASS of models only" "$program" probe --impl model $few
    expect 0 "partial run: --class, --impl" "$program" probe --impl model --class ties,floor $few
    refuse "wide-exponents" "$program" probe --impl model --class ties,floor $few
    expect 0 '"exit_status": 0' "$program" probe --impl model $few --json
    expect 0 "all classes                  19,456 " "$program" probe --impl model $few
}
"$program" probe --list >list
if grep -q '^ *wgrad-avx2 *cpu.*path$' list; then
    expect 0 "PASS on CPU only: no tensor core ran (0 of " "$program" probe --count 20000
    expect 0 "NOT RUN  mma_sync" "$program" probe --count 1000
    expect 0 "wgrad-avx2" "$program" probe --count 1000
    expect 0 "PASS on CPU only" env OMP_NUM_THREADS=1 "$program" probe --count 1000 --seed 9223372036854775807
elif ! have_gpu; then
    expect 3 "NOTHING RAN" "$program" probe --count 1000
fi
expect 130 "no verdict" timeout --foreground --preserve-status -s INT 3 "$program" probe --impl model --count 1000000000000

# Another arithmetic is found, made small and named.
for variant in 24-bits steps-of-8 floor-134 zeros-with-exponents fma-chain; do
    expect 1 "are what this arithmetic gives: $variant (" "$program" probe --impl "model:$variant" --count 20000
    expect 1 "the smallest vector found that differs" "$program" probe --impl "model:$variant" --count 20000
    expect 1 "FAIL: not contract TC: model:$variant (" "$program" probe --impl "model:$variant" --count 20000
done
expect 1 '"24-bits"' "$program" probe --impl model:24-bits --json --count 5000
expect 0 "" sh -c "'$program' probe --impl model:24-bits --json --count 5000 | python3 -c 'import json, sys; json.load(sys.stdin)'"

# The same bits whatever the number of threads.
for threads in 1 3; do
    OMP_NUM_THREADS=$threads "$program" probe --impl model:24-bits --count 3000 2>/dev/null |
        sed -E 's/ +[0-9.]+ M\/s.*//; /^yardstick/d' >"threads-$threads" || true
done
expect 0 "" cmp threads-1 threads-3

# Recorded dot products: captured here, and replayed.
expect 0 "PASS" "$program" probe --impl model --capture right --count 10000
expect 0 "PASS: all 1,216 recorded dot products of 19 sets" "$program" probe --replay right
expect 0 "implementation: model" cat right/model/about.txt
expect 2 "choose another folder" "$program" probe --impl model --capture right --count 10000
expect 1 "FAIL" "$program" probe --impl model:24-bits --capture planted --count 10000
expect 1 "d_alignment_fp32.txt:" "$program" probe --replay planted
expect 1 "are what this arithmetic gives: 24-bits" "$program" probe --replay planted/model:24-bits
expect 1 '"24-bits"' "$program" probe --replay planted --json
cp -r right mixed && cp -r planted/model:24-bits mixed/
expect 1 "PASS         64 dot products, 0 differ  mixed/model/d_alignment_fp32.txt" "$program" probe --replay mixed
expect 2 "/proc/no-such-folder" "$program" probe --impl model --capture /proc/no-such-folder
expect 2 "could not be written" sh -c "ulimit -f 1; '$program' probe --impl model --capture limited --count 10000"

# Nothing to replay, and what is not of the format.
mkdir empty
expect 2 "nothing to replay is no pass" "$program" probe --replay empty
expect 2 "nowhere: No such file or directory" "$program" probe --replay nowhere
cp -r right/model cut
sed -i '7s/ [0-9a-f]*$//' cut/a_ties_bf16.txt
expect 2 "cut/a_ties_bf16.txt:7: a short line: 15 of 16 words" "$program" probe --replay cut
cp -r right/model odd
sed -i '64s/^./2/' odd/d_normal_fp32.txt
expect 2 "odd/d_normal_fp32.txt:64: expected 32 binary digits" "$program" probe --replay odd
cp -r right/model half
sed -i '3s/0 /1 /' half/b_floor_bf16.txt
expect 2 "half/b_floor_bf16.txt:3: a word's lower half is not zero" "$program" probe --replay half
cp -r right/model short
sed -i '$d' short/c_floor_fp32.txt
expect 2 "short/c_floor_fp32.txt:63: ends here" "$program" probe --replay short
cp -r right/model gone
rm gone/c_floor_fp32.txt
expect 2 "gone/c_floor_fp32.txt is missing" "$program" probe --replay gone
cp -r right/model flipped
sed -i '64{s/0$/X/;s/1$/0/;s/X$/1/}' flipped/d_normal_fp32.txt
expect 1 "flipped/d_normal_fp32.txt:64" "$program" probe --replay flipped
mkdir loop && ln -s . loop/again
expect 2 "nested more than" "$program" probe --replay loop
mkdir "$(printf 'r\033[31md')"
expect 2 'r\x1b[31md' "$program" probe --replay "$(printf 'r\033[31md')"

# Results that others recorded.
if [ -n "$silicon" ]; then
    expect 0 "PASS: all " "$program" probe --replay "$silicon"
    "$program" probe --replay "$silicon" | tail -n 1
else
    echo "SAMEBITS_SILICON is not set: published results are not replayed"
fi

finish
