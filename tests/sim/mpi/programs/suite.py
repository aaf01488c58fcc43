"""Runs suites of mpi4py's own tests; each rank writes what became of each test to a JSON file of its own.

    mpiexec -n N python suite.py FOLDER_OF_TESTS FOLDER_OF_VERDICTS SUITE…
"""

import json
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
TESTS, VERDICTS, *SUITES = sys.argv[1:]
sys.path.insert(0, TESTS)

# mpi4py's own, which prepares modules as its runner does.
from main import main  # noqa: E402


class Result(unittest.TextTestResult):
    """Keeps a verdict for each test."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.verdicts = {}

    def startTest(self, test):
        super().startTest(test)
        self.verdicts[test.id()] = "passed"

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.verdicts[test.id()] = f"skipped: {reason}"

    def addError(self, test, err):
        super().addError(test, err)
        self.verdicts[test.id()] = f"error: {err[1]}"

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.verdicts[test.id()] = f"failed: {err[1]}"


class Runner(unittest.TextTestRunner):
    """Writes the verdicts down when all tests are done."""

    resultclass = Result

    def run(self, test):
        result = super().run(test)
        rank = sys.modules["mpi4py.MPI"].COMM_WORLD.Get_rank()
        (Path(VERDICTS) / f"{rank}.json").write_text(json.dumps(result.verdicts))
        return result


main(module=None, argv=[os.fspath(Path(TESTS) / "runtests.py"), "-q", *SUITES], testRunner=Runner)
