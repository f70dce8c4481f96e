#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_pitfalls.sh FOLDER - every pitfall of FOLDER/README.md has a test with its number in its name, in each of the files
# its row names, and that test is run.
set -eu
cd "$1"
n=0
missing=0
for number in $(sed -n 's/^| T\([0-9]*\) |.*/\1/p' README.md); do
	n=$((n + 1))
	for file in $(sed -n "s/^| T$number |.*| \\(.*\\) |\$/\\1/p" README.md | grep -o '`[a-z/]*test_[a-z]*`' | tr -d '`'); do
		# In a list of tests: T(T1_name), TEST(T1_name) or cmocka_unit_test(T1_T2_name).
		if ! grep -Eq "(T|TEST|cmocka_unit_test)\\((T[0-9]+_)*T${number}_[A-Za-z0-9_]+\\)" "$file.c" &&
			! sed -n "s/^| T$number |.*; //p" README.md | grep -q "\`$file\`, T"; then
			echo "T$number has no test in $file.c"
			missing=1
		fi
	done
done
if [ "$n" -lt 38 ]; then
	echo "README.md lists only $n pitfalls"
	missing=1
fi
exit "$missing"
