"""The programs of MPICH's test suite: which there are, and how they are compiled.

Of the sources (``test/mpi`` of a tree of MPICH) nothing is part of this project; its lists of tests say how many ranks
and which arguments each program is run with.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = ("coll", "comm", "errors/coll", "errors/comm", "threads/coll", "threads/comm")
"""Folders with tests of collectives and communicators."""
_CONFIGURATION = """
#define HAVE_STDLIB_H 1
#define HAVE_STDIO_H 1
#define HAVE_STRING_H 1
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_GETRUSAGE 1
#define HAVE_USLEEP 1
#define HAVE_SETENV 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_INT8_T 1
#define HAVE_INT16_T 1
#define HAVE_INT32_T 1
#define HAVE_INT64_T 1
#define HAVE_UINT8_T 1
#define HAVE_UINT16_T 1
#define HAVE_UINT32_T 1
#define HAVE_UINT64_T 1
#define HAVE__BOOL 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_INIT_THREAD 1
#define USE_STRICT_MPI 0
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define MTEST_THREAD_RETURN_TYPE void *
#define MTEST_THREAD_RETVAL_IGN 0
"""
"""Results of the suite's configure script on a machine of today."""


_OFF = "@coll_error@"
"""Marks tests that MPICH's configure script leaves out by itself: of ranks whose arguments do not fit each other's."""


class SuiteError(ValueError):
    """A folder is not ``test/mpi`` of MPICH, or has no such tests."""


@dataclass(frozen=True)
class SuiteTest:
    """A line of a list of tests.

    Members
    -------
    folder, program : str
        Where its source stands, and its name without the suffix.
    ranks : int
        Processes.
    arguments : tuple of str
        Of the program.
    environment : dict
        Variables of its own.
    launcher : tuple of str
        Further options of ``mpiexec``.
    aborts : bool
        It passes if its exit code is another than 0: that it ends ranks is what it is about.
    """

    folder: str
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ()
    aborts: bool = False

    @property
    def name(self) -> str:
        return " ".join((f"{self.folder}/{self.program}", str(self.ranks), *self.arguments))


def listed(suite: Path, folder: str) -> Iterator[SuiteTest]:
    """The tests of a folder, in the order of its list.

    Tests that want gigabytes (`mem`) are left out, as in a plain run of the suite, and so are those that are erroneous
    programs (`coll_error`).

    Raises
    ------
    SuiteError
        If there is no such list.
    """
    lists = [path for name in ("testlist.in", "testlist") if (path := suite / folder / name).exists()]
    if not lists:
        raise SuiteError(f"suite: must be test/mpi of MPICH's sources, with {folder}/testlist, not {suite}")
    for line in lists[0].read_text().splitlines():
        if line.startswith(_OFF):
            continue
        words = re.sub(r"@\w+@", "", line).split()
        if len(words) < 2 or words[0].startswith("#"):
            continue
        program, ranks, *options = words
        given = [option.partition("=")[::2] for option in options]
        if any(name == "mem" for name, _ in given):
            continue
        yield SuiteTest(
            folder, program, int(ranks), tuple(value for name, value in given if name == "arg"),
            dict(value.split("=", 1) for name, value in given if name == "env"),
            tuple(value for name, value in given if name == "mpiexecarg"),
            ("resultTest", "TestStatusNoErrors") in given,
        )


class Compiler:
    """Compiles programs of a suite; what they share is compiled once.

    Parameters
    ----------
    suite : Path
        ``test/mpi`` of MPICH's sources.
    folder : Path
        Where programs are left.
    mpicc : str
        The compiler.
    """

    def __init__(self, suite: Path, folder: Path, mpicc: str):
        self._suite, self._folder, self._mpicc = suite, folder, mpicc
        (folder / "include").mkdir(parents=True, exist_ok=True)
        (folder / "mpitestconf.h").write_text(_CONFIGURATION)
        (folder / "dtpoolsconf.h").write_text(_CONFIGURATION)
        # Lists MPICH's extensions, which no program of these folders needs.
        (folder / "mtest_mpix.h").write_text("")
        self._flags = [
            "-w", "-O1", "-DHAVE_CONFIG_H",
            *(f"-I{path}" for path in (folder, folder / "include", suite / "include", suite / "dtpools/include")),
        ]
        shared = [suite / "util" / f"{name}.c" for name in ("mtest", "mtest_common", "mtest_thread", "dtypes")]
        objects = [self._object(path) for path in (*shared, *sorted((suite / "dtpools/src").glob("*.c")))]
        # Of an archive only what a program lacks is taken: `run_mpitests` is the main of those that have none.
        self._shared = folder / "shared.a"
        self._shared.unlink(missing_ok=True)
        objects.append(self._object(suite / "util/run_mpitests.c"))
        subprocess.run(["ar", "rcs", str(self._shared), *map(str, objects)], check=True)

    def _object(self, source: Path) -> Path:
        made = self._folder / f"{source.stem}.o"
        if not made.exists():
            self._run("-c", str(source), "-o", str(made))
        return made

    def _run(self, *arguments: str) -> None:
        outcome = subprocess.run([self._mpicc, *self._flags, *arguments], capture_output=True, text=True, check=False)
        if outcome.returncode:
            raise SuiteError(f"{' '.join(arguments[:2])} does not compile:\n{outcome.stderr[-1500:]}")

    def program(self, test: SuiteTest) -> Path:
        """The program of a test. Raises :class:`SuiteError` if it does not compile."""
        made = self._folder / f"{test.folder.replace('/', '-')}-{test.program}"
        if not made.exists():
            source = self._suite / test.folder / f"{test.program}.c"
            self._run(str(source), str(self._shared), "-o", str(made), "-lpthread", "-lm")
        return made
