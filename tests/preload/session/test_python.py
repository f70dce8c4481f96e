# SPDX-License-Identifier: Apache-2.0
"""test_python.py LIBRARY COMMAND PTX GUEST - Python as the host of the library.

Each scenario of guest.py runs without and with the library: output, errors and exit status must be the same, and what it
leaves must be captures that `warpspan check` finds nothing wrong with, of the processes that used CUDA and no others.
"""

import os
import subprocess
import sys
import tempfile
import unittest

LIBRARY, COMMAND, PTX, GUEST = map(os.path.abspath, sys.argv[1:5])

# Launches in the captures that each scenario leaves; those of programs that are ended at once have no end.
EXPECTED = {
    "signals": [3],
    "threads": [40],
    "by_fork": [5],
    "by_spawn": [5, 6, 7],
    "by_subprocess": [2, 4],
    "plain": [4],
    "killed": [3],
    "os_exit": [3],
    "sys_exit": [3],
    "exception": [3],
    "exception_in_thread": [3],
    "exit_with_threads": [15],
}
CUT_SHORT = {"killed", "os_exit"}


def run(scenario, **environment):
    # By its path: a wrapper would run under the library as well.
    return subprocess.run([sys.executable, GUEST, PTX, scenario], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})


def launches(info):
    lines = [line.split() for line in info.splitlines()]
    return next(int(line[1]) for line in lines if line[:1] == ["launches"])


class Python(unittest.TestCase):
    maxDiff = None

    def check(self, scenario, **settings):
        with tempfile.TemporaryDirectory(prefix="warpspan-test-") as folder:
            plain = run(scenario)
            ours = run(scenario, LD_PRELOAD=LIBRARY, WARPSPAN_OUT=folder + "/%p-%n", WARPSPAN_LOG="none", **settings)
            self.assertEqual(ours.stdout, plain.stdout)
            self.assertEqual(ours.stderr, plain.stderr)
            self.assertEqual(ours.returncode, plain.returncode)
            captures = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".wspan")]
            found = []
            for capture in captures:
                if scenario not in CUT_SHORT:
                    check = subprocess.run([COMMAND, "check", capture], capture_output=True, text=True)
                    self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
                info = subprocess.run([COMMAND, "info", capture], capture_output=True, text=True)
                self.assertEqual(info.returncode, 0, info.stderr)
                found.append(launches(info.stdout))
            self.assertEqual(sorted(found), EXPECTED[scenario])

    def test_T28_its_own_signals_with_ours_beside_them(self):
        self.check("signals", WARPSPAN_STOP_SIGNAL="RTMIN+7", WARPSPAN_TOGGLE_SIGNAL="RTMIN+8")

    def test_T29_its_own_signals_where_we_are_told_to_take_them(self):
        self.check("signals", WARPSPAN_STOP_SIGNAL="USR1", WARPSPAN_TOGGLE_SIGNAL="USR2")


def make(scenario):
    return lambda self: self.check(scenario)


for name in EXPECTED:
    setattr(Python, f"test_{name}", make(name))

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
