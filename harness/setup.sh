#!/usr/bin/env bash
# setup.sh - shared by ./harness/gate and ./harness/test: finds what is missing, installs it, builds.
# Sourced by bash. Says what it installs; needs no root when the packages are there.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${SAMEBITS_BUILD:-$root/build}
export PATH="$PATH:/usr/local/cuda/bin" # the toolkit's own place, where no profile script has named it

say() { printf 'samebits: %s\n' "$*" >&2; }
die() {
    say "$1"
    exit "${2:-2}"
}

have_command() { command -v "$1" >/dev/null 2>&1; }
have_library() { have_command pkg-config && pkg-config --exists "$1"; }
have_hdf5() { have_library hdf5 || have_library hdf5-serial || have_command h5cc; }
have_python_h5py() { /usr/bin/python3 -c 'import h5py, numpy' >/dev/null 2>&1; }
# clang may come without its OpenMP runtime; the determinism test compiles with both.
have_clang_openmp() { have_command clang && echo 'int main(void){return 0;}' | clang -fopenmp -x c - -o /dev/null 2>/dev/null; }

# packages_for gate|test: prints the Debian/Ubuntu packages that are missing here.
packages_for() {
    have_command gcc || echo gcc
    have_command cmake || echo cmake
    have_command make || echo make
    have_command pkg-config || echo pkg-config
    have_hdf5 || echo libhdf5-dev
    have_library jansson || echo libjansson-dev
    have_library libsodium || echo libsodium-dev
    if have_command nvcc; then have_command g++ || echo g++; fi
    [ "$1" = test ] || return 0
    have_library check || echo check
    have_library gmp || echo libgmp-dev
    have_clang_openmp || echo clang libomp-dev
    have_python_h5py || echo python3-h5py
    have_command h5dump || echo hdf5-tools
}

# install_missing gate|test
install_missing() {
    local packages as_root=""
    packages=$(packages_for "$1" | tr '\n' ' ')
    [ -n "${packages// /}" ] || return 0
    have_command apt-get || die "missing: $packages(Debian and Ubuntu names). Install them with this system's package manager, then run this again."
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || die "missing: $packages. Run: sudo apt-get install $packages, then run this again."
        as_root="sudo -n"
    fi
    say "installing: $packages"
    # shellcheck disable=SC2086 # word splitting is wanted: a list of packages, and sudo with its flag
    {
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
    } || die "could not install: $packages"
    packages=$(packages_for "$1" | tr '\n' ' ')
    [ -z "${packages// /}" ] || die "still missing after the installation: $packages"
}

# fetch_disassembler: cuobjdump and nvdisasm for the test `sass`, where a toolkit came without them: from NVIDIA's
# packages on PyPI into $build/tools. Without a network the test is skipped, and says why.
fetch_disassembler() {
    local tools=$build/tools wheels wheel
    have_command nvcc || return 0 # no kernel to read
    if have_command cuobjdump && have_command nvdisasm; then return 0; fi
    if [ -x "$tools/cuobjdump" ] && [ -x "$tools/nvdisasm" ]; then return 0; fi
    say "fetching cuobjdump and nvdisasm into $tools"
    wheels=$(mktemp -d)
    if timeout 120 python3 -m pip --disable-pip-version-check download --quiet --retries 1 --timeout 15 --no-deps \
        --only-binary=:all: --dest "$wheels" nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm >"$wheels/log" 2>&1; then
        for wheel in "$wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$wheels"; done
        mkdir -p "$tools"
        find "$wheels" -type f \( -name cuobjdump -o -name nvdisasm \) -exec install -m 755 {} "$tools" \;
    else
        say "could not fetch them ($(tail -n 1 "$wheels/log")): the test sass will be skipped"
    fi
    rm -rf "$wheels"
}

# build_samebits TARGET [cmake options]: configures, and builds that target in $build.
build_samebits() {
    local target=$1 log=$build/build.log
    shift
    mkdir -p "$build"
    say "building in $build (log: $log)"
    if ! {
        cmake -S "$root" -B "$build" "$@" &&
            cmake --build "$build" --parallel "$(nproc)" --target "$target"
    } >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        die "the build failed; the whole log is $log"
    fi
}
