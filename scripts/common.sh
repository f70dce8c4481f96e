# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every script here shares; sourced, not run. Sets `root` (the source tree) and `build`, and works from the root.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
cd "$root"

say() {
	printf '==> %s\n' "$*"
}

# Ends the script: what is missing, and how to get it.
give_up() {
	printf '%s: %s\n' "${0##*/}" "$1" >&2
	shift
	for line in "$@"; do
		printf '    %s\n' "$line" >&2
	done
	exit 1
}

# Installs what is missing, configures where that has not happened, and builds.
setup_and_build() {
	scripts/setup
	if [ ! -f "$build/build.ninja" ]; then
		say "configuring build/"
		meson setup "$build" >"$build/configure.log" 2>&1 || {
			tail -n 20 "$build/configure.log" >&2
			give_up "meson could not configure the build" "the whole log: build/configure.log"
		}
	fi
	say "building"
	ninja -C "$build" >"$build/build.log" 2>&1 || {
		grep -E 'error|FAILED|warning' "$build/build.log" | head -n 40 >&2
		give_up "the build failed" "the whole log: build/build.log"
	}
}

# True when a CUDA driver and a device it can use are there.
have_gpu() {
	[ -e /dev/nvidiactl ] && { ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' || [ -e /usr/lib/x86_64-linux-gnu/libcuda.so.1 ]; }
}
