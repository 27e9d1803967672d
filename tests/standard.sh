#!/usr/bin/env bash
# standard.sh PROGRAM SOURCE - the standard suite as goldens: made in time, verified in depth, equal to the committed
# digests, recomputed by an independent program from /inputs and the attributes. Then the smoke set: red for any
# flipped bit in any of its files.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$2" && pwd)
set_folder=$scratch/standard
production=$scratch/production
# Whole seconds of processor time that finished children of this shell have used.
children_seconds() {
    times | LC_ALL=C awk 'NR == 2 { split($1, u, "[ms]"); split($2, s, "[ms]"); print int(u[1] * 60 + u[2] + s[1] * 60 + s[2]) }'
}
limit=60 # seconds for making the set; of processor time, so that a busy machine does not decide

before=$(children_seconds)
expect 0 "" "$program" golden make --suite standard --out "$set_folder"
took=$(($(children_seconds) - before + 1))
echo "made in $took s of processor time"
expect 0 "" test "$took" -lt "$limit"
expect 0 "" "$program" golden verify "$set_folder" --deep
expect 0 "" "$program" golden make --suite standard --digests "$scratch/standard.json"
expect 0 "" cmp "$scratch/standard.json" "$source/golden/digests/standard.json"
expect 0 "" /usr/bin/python3 "$source/tests/recompute.py" "$set_folder"

# Production shapes: the smallest one, from its seed to the committed digests and as a file without its inputs. An
# output of which samples are known says so.
smallest=(--suite production --op wgrad_varlen_k --limit 1)
expect 0 "1 case was compared on samples only" "$program" check "${smallest[@]}" --device cpu
expect 0 "" "$program" golden make "${smallest[@]}" --out "$production"
expect 0 "" "$program" golden verify "$production" --deep
expect 0 "PASS" "$program" check --golden "$production" --device cpu --report "$scratch/production.jsonl"
expect 0 '"sampled":"128 tiles of 64x64, 0.26 % of dw"' cat "$scratch/production.jsonl"
expect 2 "1 files NOT checked" /usr/bin/python3 "$source/tests/recompute.py" "$production"

# A digest file that is not of this reference: one digit of one digest, and the manifest's own digest made right again.
stale=$scratch/stale
mkdir -p "$stale/digests"
cp "$source/golden/digests/production.json" "$stale/digests/"
cat >"$scratch/spoil.py" <<'PY'
import hashlib, re, sys
path, case, tensor = sys.argv[1:]
text = open(path).read()
at = text.index(case)
at = text.index(f'"{tensor}": "', at) + len(f'"{tensor}": "')
text = text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1:]
blank = re.sub('"content_sha256": "[0-9a-f]{64}"', '"content_sha256": ""', text, count=1)
digest = hashlib.sha256(blank.encode()).hexdigest()
open(path, "w").write(blank.replace('"content_sha256": ""', f'"content_sha256": "{digest}"', 1))
PY
case=$("$program" list "${smallest[@]}" 2>/dev/null | head -n 1)
for tensor in outputs/dw samples/dw inputs/x; do
    cp "$source/golden/digests/production.json" "$stale/digests/production.json"
    /usr/bin/python3 "$scratch/spoil.py" "$stale/digests/production.json" "$case" "$tensor"
    expect 1 "$tensor differs from the digest committed" env SAMEBITS_GOLDEN="$stale" "$program" check "${smallest[@]}" --device cpu
done

# Any flipped bit: several in every file of the smoke set, the two that describe the set among them.
small=$scratch/smoke
cp -r "$source/golden/smoke" "$small"
flip() { # FILE SEED: flips one bit at a place that the seed picks; flipping again puts it back
    /usr/bin/python3 - "$1" "$2" <<'PY'
import os, sys
path, seed = sys.argv[1], int(sys.argv[2])
place = (seed * 2654435761) % os.path.getsize(path)
with open(path, "r+b") as f:
    f.seek(place)
    byte = f.read(1)[0] ^ (1 << seed % 8)
    f.seek(place)
    f.write(bytes([byte]))
PY
}
seed=1
while read -r file; do
    for _ in 1 2 3; do
        flip "$small/$file" "$seed"
        status=0
        output=$("$program" golden verify "$small" 2>&1) || status=$?
        case $status in
        1 | 2)
            expect 0 "$(basename "$file")" echo "$output"
            # inputs/NAME, outputs/NAME or samples/NAME
            # shellcheck disable=SC2016 # expanded by the inner shell
            case $file in *.h5) expect 0 "" bash -c 'grep -qE "(inputs|outputs|samples)/" <<<"$1"' _ "$output" ;; esac
            ;;
        *) expect 1 "" echo "no fault found in $file, seed $seed" ;;
        esac
        flip "$small/$file" "$seed"
        seed=$((seed + 1))
    done
done < <(cd "$small" && find . -type f | sort)
expect 0 "" "$program" golden verify "$small"

finish
