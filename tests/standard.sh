#!/usr/bin/env bash
# standard.sh PROGRAM SOURCE - the standard suite as goldens: made in time, verified in depth, equal to the committed
# digests, recomputed by an independent program from /inputs and the attributes. Then the smoke set: red for any
# flipped bit in any of its files.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$2" && pwd)
set_folder=$scratch/standard
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
            case $file in *.h5) expect 0 "puts/" echo "$output" ;; esac # inputs/NAME or outputs/NAME
            ;;
        *) expect 1 "" echo "no fault found in $file, seed $seed" ;;
        esac
        flip "$small/$file" "$seed"
        seed=$((seed + 1))
    done
done < <(cd "$small" && find . -type f | sort)
expect 0 "" "$program" golden verify "$small"

finish
