#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Not a CUDA program: does what run_twice has to find out. The way is chosen by TELL_TALE.
case $TELL_TALE in
well) ;;
prints) echo "preloaded: ${LD_PRELOAD:-nothing}" ;;
complains) test -z "$LD_PRELOAD" || echo "preloaded" >&2 ;;
exits) test -z "$LD_PRELOAD" || exit 3 ;;
leaves) test -z "$LD_PRELOAD" || touch left ;;
fails) echo "tell_tale: failed"; exit 1 ;;
pretends) ;;
esac
echo "tell_tale: ok"
test "$TELL_TALE" != pretends || echo "and more"
