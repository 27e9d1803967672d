#!/usr/bin/env bash
# statuses.sh PROGRAM - every verb's exit statuses and what it says to bad usage and bad input.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$scratch"
smoke=$(dirname "$0")/../golden/smoke
[ -d "$smoke" ] || smoke=$OLDPWD/$smoke
case_file=$(find "$smoke" -name 'shape=256,semantics=torch,dist=ramp.h5' | head -n 1)
other_file=$(find "$smoke" -name 'shape=256,semantics=shift,dist=ramp.h5' | head -n 1)
empty_file=$(find "$smoke" -path '*e8m0_upcast*' -name 'shape=0,semantics=torch.h5' | head -n 1)
gpu=false
have_gpu && gpu=true

# The program itself.
expect 2 "VERB" "$program"
expect 0 "golden verify" "$program" --help
expect 0 "samebits" "$program" --version
expect 2 "nearest: check" "$program" chek
for verb in info list check "golden make" "golden verify" diff probe bench; do
    # shellcheck disable=SC2086 # "golden make" is two words
    expect 0 "--help" "$program" $verb --help
    # shellcheck disable=SC2086
    expect 2 "--help" "$program" $verb --no-such-option
done

# info and list.
expect 0 "CUDA targets" "$program" info
expect 0 '"ops"' "$program" info --json
expect 0 "(required)" "$program" info --op wgrad_varlen_k
expect 2 "nearest: scale_pack" "$program" info --op scale_pac
expect 0 "poison" "$program" list --grep poison
expect 2 "reason" "$program" list --grep "no such words"
expect 0 "golden verify" "$program" golden --help
expect 0 "wgrad_varlen_k/" "$program" list --suite smoke
expect 0 '"id"' "$program" list --suite seed --json
expect 2 "nearest: smoke" "$program" list --suite smok
expect 2 "nearest: scale_pack" "$program" list --op scale_pac
expect 2 "E needs a whole number" "$program" list --case 'topk_metadata/N=512,topk=4,E=eight'
expect 2 "" "$program" list --case '*no-such-case*'
expect 0 "3 cases" "$program" list --suite smoke --limit 3
expect 0 "2 cases" "$program" list --grep poison --limit 2
expect 2 "--limit 0: expected a whole number from 1" "$program" list --limit 0
expect 2 "--limit -1" "$program" golden make --suite smoke --limit -1 --out "$scratch/none"
expect 2 "--limit one" "$program" check --suite smoke --limit one
expect 0 "sample=128" "$program" list --suite production

# check: what runs, what does not, and what that is worth.
expect 0 "PASS on CPU only: no kernel ran (0 of " "$program" check --suite smoke --device cpu
expect 0 "PASS" "$program" check --suite arguments --device cpu
expect 0 "partial run" "$program" check --suite smoke --op scale_pack --device cpu
expect 0 "only the first 2 of 57 cases, by --limit" "$program" check --suite smoke --limit 2 --device cpu
expect 0 "only the 11 cases that --op selects, only the first 1 of 11 cases, by --limit" "$program" check --suite smoke --op scale_pack --limit 1 --device cpu
expect 0 "selected; without it all" "$program" check --help
refuse 1000000 "$program" check --help
refuse "partial run" "$program" check --suite arguments --limit 1000 --device cpu
expect 0 "compared on samples only" "$program" check --suite smoke --op wgrad_varlen_k --device cpu
refuse "samples only" "$program" check --suite smoke --op scale_pack --device cpu
expect 2 "needs sample=0" "$program" check --case 'wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,break=misaligned_dw,sample=1'
expect 3 "no suite lists this call" "$program" check --case 'wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5,sample=2' --device cpu
expect 2 "nearest: smoke" "$program" check --suite smoky
expect 2 "did you mean shift" "$program" check --case 'e8m0_upcast/shape=256,semantics=shfit'
expect 2 "nearest: topk_metadata" "$program" check --case topk_metdata
expect 2 "is empty" "$program" check --suite ,
expect 2 "is empty" "$program" check --suite smoke --device cpu --require ,
expect 2 "SAMEBITS_GOLDEN" env SAMEBITS_GOLDEN="$scratch/nowhere" "$program" check --suite smoke --device cpu
expect 2 "not UTF-8" "$program" check --golden $'\xff' --device cpu
expect 2 "not UTF-8" "$program" golden verify --json $'\xff'
expect 2 "" "$program" check --case ''
expect 2 "fused" "$program" check --suite smoke --op e8m0_upcast --variant fusde
expect 2 "--device" "$program" check --suite smoke --device gpu
expect 2 "--timeout" "$program" check --suite smoke --timeout soon
expect 2 "" "$program" check --suite smoke --golden "$scratch/nowhere"
expect 2 "" "$program" check --suite smoke --device cpu --report "$scratch/no/such/folder/r.jsonl"
expect 3 "no verdict" "$program" check --case 'wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5' --device cpu
refuse "PASS:" "$program" check --case 'wgrad_varlen_k/M=72,N=40,E=3,counts=17+0+5' --device cpu
expect 3 "only relations" "$program" check --case 'topk_metadata/N=77,topk=4,E=8' --device cpu
expect 2 "none of the" "$program" check --suite seed --op e8m0_upcast,scale_pack --device cpu
expect 2 "the same file" "$program" check --suite smoke --device cpu --report same --markdown same
mkdir digestless && cp -r "$smoke" digestless/smoke && mkdir digestless/digests
expect 2 "vouches for none of" env SAMEBITS_GOLDEN="$scratch/digestless" "$program" check --suite smoke,seed --device cpu
expect 3 "" "$program" check --suite smoke --device cpu --require gpu
expect 3 "" "$program" check --suite smoke --device cpu --require 100000
expect 3 "" "$program" check --suite smoke --device 63
if ! $gpu; then
    expect 3 "--device 0: " "$program" check --suite smoke --device 0
    expect 3 "--device all: " "$program" check --suite smoke --device all
    expect 3 "" "$program" check --suite smoke --variant mma_sync
    expect 0 "NOT RUN" "$program" check --suite smoke
fi

# The report of a run: a begin record, results, and last an end record.
"$program" check --suite smoke --device cpu --report r.jsonl --markdown r.md >/dev/null 2>&1
expect 0 '"begin"' head -n 1 r.jsonl
expect 0 '"end"' tail -n 1 r.jsonl
expect 0 "did not execute" cat r.md
expect 0 "" python3 -c 'import json; [json.loads(line) for line in open("r.jsonl")]'

# golden make and verify.
expect 2 "--out" "$program" golden make --suite smoke
expect 2 "golden" "$program" golden
expect 2 "" "$program" golden mkae
expect 2 "" "$program" golden make --suite smoke --out /proc/no-such-folder
expect 0 "" "$program" golden make --suite smoke --op scale_pack --out set
expect 0 "" "$program" golden make --suite smoke --op scale_pack --out set
expect 2 "choose an empty folder" "$program" golden make --suite smoke --op e8m0_upcast --out set
expect 0 "" "$program" golden verify set
expect 0 "" "$program" golden verify set --deep
expect 0 "" sh -c 'cd set && sha256sum -c SHA256SUMS'
expect 0 "PASS" "$program" check --golden set --device cpu
expect 2 "nothing is selected" "$program" check --golden set --op e8m0_upcast --device cpu
expect 2 "" "$program" golden verify nowhere
expect 2 "" "$program" golden verify
mkdir empty
expect 2 "manifest.json" "$program" golden verify empty
one=$(find set -name '*.h5' | sort | head -n 1)
cp "$one" saved.h5
truncate -s 1000 "$one"
expect 1 "$(basename "$one")" "$program" golden verify set
expect 2 "" "$program" diff "$one" saved.h5
rm "$one"
expect 2 "golden file cannot be used" "$program" check --golden set --device cpu
expect 1 "$(basename "$one")" "$program" golden verify set
mkdir -p "$(dirname "$one")" && cp saved.h5 "$one"
expect 0 "" "$program" golden verify set
cp saved.h5 "$(dirname "$one")/extra.h5"
expect 1 "extra.h5" "$program" golden verify set

# diff.
expect 0 "" "$program" diff "$case_file" "$case_file"
expect 1 "0x7f800001" "$program" diff "$case_file" "$other_file"
expect 1 '"mismatches"' "$program" diff --json "$case_file" "$other_file"
expect 3 "nothing to compare" "$program" diff "$empty_file" "$empty_file"
sampled_file=$(find "$smoke" -name '*sample=5.h5')
# A candidate's whole output: the golden's tiles at their places, one element wrong where a tile is, and where none is.
/usr/bin/python3 - "$sampled_file" <<'PY'
import sys
import h5py, numpy
with h5py.File(sys.argv[1]) as f:
    dw = numpy.zeros(tuple(int(f.attrs[name]) for name in "EMN"), numpy.float32)
    held = numpy.zeros(dw.shape, bool)
    for (e, m0, m1, n0, n1), tile in zip(f["samples/dw"], f["outputs/dw"]):
        dw[e, m0:m1, n0:n1], held[e, m0:m1, n0:n1] = tile, True
for name, place in (("whole", None), ("inside", numpy.argwhere(held)[-1]), ("outside", numpy.argwhere(~held)[0])):
    bits = dw.view("u4").copy()
    if place is not None:
        bits[tuple(place)] ^= 1
    with h5py.File(name + ".h5", "w") as f:
        f["outputs/dw"] = bits.view("f4")
PY
expect 0 "in samples (5 tiles of 64x24, " "$program" diff "$sampled_file" "$sampled_file"
expect 0 "in samples (5 tiles of 64x24, " "$program" diff "$sampled_file" whole.h5
expect 0 "in samples" "$program" diff "$sampled_file" outside.h5
expect 1 "of sample" "$program" diff "$sampled_file" inside.h5
expect 1 '"sampled": "5 tiles' "$program" diff --json "$sampled_file" inside.h5
expect 2 "" "$program" diff "$case_file"
expect 2 "nowhere.h5" "$program" diff "$case_file" nowhere.h5
echo "not HDF5" >text.h5
expect 2 "text.h5" "$program" diff "$case_file" text.h5
expect 2 "text.h5" "$program" diff text.h5 "$case_file"

finish
