#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of settings in README.md is what the engine prints from its list:  check_readme.sh SIMGPU_PTX README
printed=$("$1" --settings) || exit 1
written=$(sed -n '/^| setting |/,/^$/p' "$2")
[ "$printed" = "$written" ] && exit 0
echo "the table of settings in $2 is not this:" >&2
echo "$printed" >&2
exit 1
