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
"$program" probe --list >list
# No GPU has both wgmma and tcgen05.
absent=$(sed -n 's/^ *\(wgmma\|tcgen05\) .*(does not run here)$/\1/p' list | head -n 1)
gpu=$({ "$program" probe --count 1 --json || true; } | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpu"] or "none")')
status=0
case $gpu in *"(sm_8"?")") status=1 ;; esac # mma.sync is another contract there

# Usage.
expect 0 "--replay DIR" "$program" probe --help
expect 2 "--help" "$program" probe --no-such-option
expect 0 "did not finish" "$program" probe --help
expect 2 "nearest: normal" "$program" probe --class norml
expect 2 "there is no 'mma'" "$program" probe --impl mma
expect 2 "--count" "$program" probe --count 0
expect 2 "--seed" "$program" probe --seed -1
expect 2 "is empty" "$program" probe --class normal,
expect 2 "--seed does not go with it" "$program" probe --replay . --seed 2
expect 2 "--capture does not go with it" "$program" probe --list --capture x
expect 2 "--device does not go with it" "$program" probe --list --device 0
expect 2 "--device" "$program" probe --device cpu
expect 3 "--device 63: " "$program" probe --device 63 --impl model --count 1000
expect 0 "zero-partners" "$program" probe --list
expect 0 "model:24-bits" "$program" probe --list
expect 0 '"reason"' "$program" probe --list --json

# What ran, and what that is worth.
# shellcheck disable=SC2086 # two words
{
    expect 3 "LESS THAN REQUIRED: --impl names $absent" "$program" probe --impl "model,$absent" $few
    expect 3 "NOTHING RAN" "$program" probe --impl "$absent" $few
    expect 3 "it is the yardstick" "$program" probe --impl plain $few
    refuse "PASS" "$program" probe --impl plain $few
    expect 0 "PASS of models only" "$program" probe --impl model $few
    expect 0 "partial run: --class, --impl" "$program" probe --impl model --class ties,floor $few
    refuse "wide-exponents" "$program" probe --impl model --class ties,floor $few
    expect 0 '"exit_status": 0' "$program" probe --impl model $few --json
    expect 0 "; contract TC (tc-bf16-k16-f25)" "$program" probe --impl model $few
    expect 0 "seed 7, at least 1,000 dot products a class" "$program" probe --impl model $few --seed 7
    expect 0 '"commit": "' "$program" probe --impl model $few --json
    expect 0 '"processor": "' "$program" probe --impl model $few --json
    expect 0 "all classes                  19,456 " "$program" probe --impl model $few
}
if grep -q '^ *wgrad-avx2 *cpu.*path$' list; then
    cpu="$program probe --impl wgrad-avx2"
    # shellcheck disable=SC2086 # words
    {
        expect 0 "PASS on CPU only: no tensor core ran (0 of " $cpu --count 20000
        expect 0 "of the yardstick with itself mostly in nan-and-inf and infinities and half in any-bits" $cpu $few
        expect 0 '"note": "CPU paths: ' $cpu $few --json
        expect 0 "PASS on CPU only" env OMP_NUM_THREADS=1 $cpu --count 1000 --seed 9223372036854775807
    }
    expect "$status" "NOT RUN  $absent" "$program" probe --count 1000
    expect "$status" "wgrad-avx2" "$program" probe --count 1000
elif [ "$gpu" = none ]; then
    expect 3 "NOTHING RAN" "$program" probe --count 1000
fi
if [ "$gpu" = none ]; then
    expect 0 '"gpu": null' "$program" probe --impl model --count 1000 --json
elif [ "$status" = 1 ]; then
    expect 1 "FAIL: not contract TC: mma_sync" "$program" probe --impl mma_sync --count 20000
else
    expect 0 "GPU $gpu; driver " "$program" probe --impl mma_sync --count 20000
    expect 0 "PASS: everything that ran keeps contract TC, " "$program" probe --count 20000
    refuse "0 of 4" "$program" probe --count 20000
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

# A capture that cannot be written whole is not there, and the run is no pass, in words, in JSON and in its status.
limited() { # OPTION...
    sh -c "ulimit -f 1; exec \"\$@\"" sh "$program" probe --impl model --capture limited --count 10000 "$@"
}
expect 2 "could not be written" limited
expect 2 "NOT RECORDED: no bits differ, but --capture failed: " limited
expect 2 "(exit 2: " limited
expect 2 '"exit_status": 2' limited --json
refuse "exit 0" limited
refuse '"verdict": "PASS' limited --json
expect 2 "partial run: --class, --impl" limited --class ties,floor
expect 1 "nothing was recorded, --capture failed: " sh -c "ulimit -f 1; '$program' probe --impl model:24-bits --capture limited"
expect 1 "" test -e limited
mkdir kept && touch kept/mine
expect 2 "NOT RECORDED" sh -c "ulimit -f 1; '$program' probe --impl model --capture kept --count 10000"
expect 0 "mine" ls kept
refuse "model" ls kept
expect 0 "PASS" "$program" probe --impl model --capture kept --count 10000
expect 0 "1,216 recorded dot products of 19 sets" "$program" probe --replay kept

# An interrupt leaves nothing that blocks the same command.
expect 130 "no verdict" timeout --foreground --preserve-status -s INT 2 \
    "$program" probe --impl model --capture again --count 1000000000000
expect 1 "" test -e again
expect 0 "PASS" "$program" probe --impl model --capture again --count 1000
# One that ended in the middle of writing left some sets of a right capture and its mark.
cp -r right interrupted && cp -r right/model interrupted/model:24-bits.unfinished-1
rm interrupted/*-1/?_[n-z]*.txt && touch interrupted/model:24-bits.unfinished-1/unfinished.txt
expect 2 "model:24-bits.unfinished-1: a capture that did not finish" "$program" probe --replay interrupted
expect 2 "a capture that did not finish" "$program" probe --replay interrupted/model:24-bits.unfinished-1
refuse "PASS" "$program" probe --replay interrupted

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
expect 2 "nothing to replay is no pass" "$program" probe --replay loop
mkdir -p deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17
expect 2 "nested more than" "$program" probe --replay deep
cp -r right linked && ln -s model linked/a-link && ln -s ../linked linked/model/up && ln -s "$scratch/linked/model" linked/z
expect 0 "PASS: all 1,216 recorded dot products of 19 sets" "$program" probe --replay linked
cp -r right/model pipe
rm pipe/c_floor_fp32.txt && mkfifo pipe/c_floor_fp32.txt
expect 2 "pipe/c_floor_fp32.txt: not a regular file" timeout 60 "$program" probe --replay pipe
mkfifo fifo
expect 2 "fifo: Not a directory" timeout 60 "$program" probe --replay fifo
cp -r right/model folder
rm folder/c_floor_fp32.txt && mkdir folder/c_floor_fp32.txt
expect 2 "folder/c_floor_fp32.txt: not a regular file" "$program" probe --replay folder
# Four files that end in a line for which there is no memory: not their end.
cp -r right/model vast
for file in vast/?_normal_*.txt; do truncate -s 1M "$file"; done
expect 2 "vast/a_normal_bf16.txt:65: a line of more than 4096 bytes" "$program" probe --replay vast
if (ulimit -v 3000000 && "$program" probe --list) >/dev/null 2>&1; then # not under a sanitizer
    for file in vast/?_normal_*.txt; do truncate -s 6G "$file"; done
    expect 2 "a line of more than 4096 bytes" sh -c "ulimit -v 3000000; '$program' probe --replay vast"
fi
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
