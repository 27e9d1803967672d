#!/usr/bin/env bash
# standard.sh PROGRAM SOURCE - the standard suite as goldens: made in time, verified in depth, equal to the committed
# digests, recomputed by an independent program from /inputs and the attributes, and red for any flipped bit.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$2" && pwd)
set_folder=$scratch/standard
limit=60 # seconds for making the set on two cores

start=$(date +%s)
expect 0 "" "$program" golden make --suite standard --out "$set_folder"
took=$(($(date +%s) - start))
echo "made in $took s"
expect 0 "" test "$took" -lt "$limit"
expect 0 "" "$program" golden verify "$set_folder" --deep
expect 0 "" "$program" golden make --suite standard --digests "$scratch/standard.json"
expect 0 "" cmp "$scratch/standard.json" "$source/golden/digests/standard.json"
expect 0 "" /usr/bin/python3 "$source/tests/recompute.py" "$set_folder"

# Any flipped bit: one in each of some files of every op, and in the two files that describe the set.
flip() { # FILE SEED: flips one bit at a place that the seed picks; flipping again puts it back
    /usr/bin/python3 - "$1" "$2" <<'PY'
import os, sys
path, seed = sys.argv[1], int(sys.argv[2])
size = os.path.getsize(path)
place = (seed * 2654435761) % size
with open(path, "r+b") as f:
    f.seek(place)
    byte = f.read(1)[0] ^ (1 << seed % 8)
    f.seek(place)
    f.write(bytes([byte]))
PY
}
seed=1
while read -r file; do
    flip "$set_folder/$file" "$seed"
    status=0
    output=$("$program" golden verify "$set_folder" 2>&1) || status=$?
    case $status in
    1 | 2) expect 0 "$(basename "$file")" echo "$output" ;;
    *) expect 1 "" echo "no fault found in $file, seed $seed" ;;
    esac
    flip "$set_folder/$file" "$seed"
    seed=$((seed + 1))
done < <(
    cd "$set_folder"
    for op in */; do find "$op" -name '*.h5' -size -200k | sort | awk 'NR % 17 == 1'; done | head -n 40
    echo manifest.json
    echo SHA256SUMS
)
expect 0 "" "$program" golden verify "$set_folder"

finish
