#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tables in README.md are what the engine prints from its lists, and every setting that the sources beside it read is
# in one of them:  check_readme.sh SIMGPU_PTX README
compare() {
	[ "$1" = "$2" ] && return 0
	echo "a table in README.md is not this:" >&2
	echo "$1" >&2
	return 1
}

settings=$("$1" --settings) && support=$("$1" --support) || exit 1
compare "$settings" "$(sed -n '/^| setting |/,/^$/p' "$2")" &&
	compare "$support" "$(sed -n '/^| instruction |/,/^$/p; /^| refused |/,/^$/p' "$2")" || exit 1
folder=$(dirname "$2")
for name in $(sed -n 's/.*"\(SIMGPU_[A-Z_]*\)".*/\1/p' "$folder"/*.[ch] "$folder"/*.def "$folder"/api/*.[ch] | sort -u); do
	grep -q "^| \`$name\` |" "$2" && continue
	echo "$name is in no table of README.md" >&2
	exit 1
done
