# Sourced by each script of .ci/steps: what several of them need. Goes to the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A line of output that appears in the table of .ci/run.
say() { echo "result: $*"; }
fail() { echo "error: $*" && exit 1; }

# TOOL DEBIAN [BREW]: ends the step if the machine has no such tool. The packages that contain it.
need() {
  if command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; then return; fi
  echo "error: expected $1 (apt-get install $2${3:+, or brew install $3}), found none" && exit 69
}
command -v swift >/dev/null || { echo "error: expected a Swift toolchain (https://www.swift.org/install), found none" && exit 69; }
need_linux() { [ "$(uname)" = Linux ] || { echo "error: this step needs Linux" && exit 69; }; }
# What the trait NATS needs. Tests make certificates and keys with openssl.
need_nats() {
  need nats-server nats-server nats-server
  need openssl openssl openssl
  need pkg-config pkg-config pkg-config
  pkg-config --exists libnats || { echo "error: expected the C library libnats (apt-get install libnats-dev, or brew install cnats), found none" && exit 69; }
}

# Only editors need an index of the modules of the system. Without it a debug build takes a fifth less time.
quick=(-Xswiftc -index-ignore-system-modules)
# The strict build: warnings are errors, and Sendable conformances must be explicit.
strict=("${quick[@]}" -Xswiftc -warnings-as-errors -Xswiftc -require-explicit-sendable)
# Everything about NATS is built once, for the thread sanitizer: the library calls C code, which the compiler does not check.
nats_build=("${strict[@]}" --traits NATS --sanitize=thread --scratch-path .build-nats-thread)
address_build=(--sanitize=address --enable-code-coverage --scratch-path .build-asan "${strict[@]}" --explicit-target-dependency-import-check error)

# No leak check: many tests make retain cycles on purpose, and the tests' own canaries count leaks.
# No quarantine of freed memory: several tests need a new object at the address of a released one.
# Variables stay on the stack: some tests measure its depth.
address_options=detect_leaks=0:quarantine_size_mb=0:thread_local_quarantine_size_kb=0:detect_stack_use_after_return=0
# The leak sanitizer exists on Linux only.
leak_options=detect_leaks=$([ "$(uname)" = Linux ] && echo 1 || echo 0)

# ARGUMENT COMMAND…: if the argument is --build, builds the tests with a command `swift test …` and ends the step. No test runs,
# because none has this name. `swift build` takes other options.
build_only() {
  if [ "$1" != --build ]; then return; fi
  shift
  "$@" --filter NoTestHasThisName
  exit
}
