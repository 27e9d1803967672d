#!/usr/bin/env bash
# peers.sh PROGRAM SOURCE BUILD - harness/peers.py: its parts without a GPU, its calls of the library, its statuses; and
# a run, where python3 has torch and a GPU.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$2" && pwd)
build=$(cd "$3" && pwd)
export PYTHONDONTWRITEBYTECODE=1
cd "$scratch"

peers() { python3 "$source/harness/peers.py" "$@"; }
# with_torch 'PYTHON': peers, with that for torch
with_torch() {
    mkdir -p fake/torch
    printf '%s\n' "$1" >fake/torch/__init__.py
    shift
    PYTHONPATH=$scratch/fake peers "$@"
}

expect 0 "checks passed" python3 "$source/tests/peers.py" "$source"

expect 0 "in turns" peers --help
expect 0 "E=128,M=768,N=2048,T=66560,counts=skewed" peers --help
expect 2 "there is no shape 7" peers --shape 7
expect 2 "T is a multiple of 128" peers --shape E=8,M=64,N=64,T=100,counts=equal
expect 2 "expected a number from 0 to 3600" peers --seconds soon
expect 2 "expected a number from 0 to 3600" peers --seconds nan
expect 2 "there is no such file" peers --library nowhere.so
expect 2 "--no-such-option" peers --no-such-option
absent='raise ImportError("No module named torch")'
blind='class cuda: is_available = staticmethod(lambda: False)'
seeing='class cuda: is_available = staticmethod(lambda: True)'
expect 3 "nothing was timed: torch is not there" with_torch "$absent"
expect 3 "nothing was timed: torch is not there" with_torch "$absent" --json
expect 3 "nothing was timed: torch finds no GPU" with_torch "$blind"
export SAMEBITS_BUILD=$scratch/no-build
expect 3 "--target samebits_kernels" with_torch "$seeing"
echo "no library" >broken.so
expect 3 "could not be loaded" with_torch "$seeing" --library broken.so

if cmake --build "$build" --target help | grep samebits_kernels >/dev/null; then
    expect 0 "" cmake --build "$build" --target samebits_kernels
    expect 0 "checks passed" python3 "$source/tests/peers.py" "$source" "$build/libsamebits_kernels.so"
else
    echo "built without CUDA: the library's calls were not checked"
fi
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && have_gpu; then
    expect 0 '"exit_status": 0' peers --library "$build/libsamebits_kernels.so" --seconds 0.01 --json \
        --shape E=3,M=264,N=520,T=768,counts=skewed
fi

finish
