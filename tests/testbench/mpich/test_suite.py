"""Running MPICH's tests: lists of tests, programs, verdicts; on a suite of three programs that stand here."""

import json
from pathlib import Path

import pytest

from testbench.mpich.__main__ import main
from testbench.mpich.suite import SuiteError, SuiteTest, listed

_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && !strcmp(argv[1], "-forever"))
        for (;;) sleep(1);
    if (argc > 1 && !strcmp(argv[1], "-wrong"))
        sum++;
    if (!rank && sum == size * (size - 1) / 2 && getenv("WANTED") && !access("numbers.txt", R_OK))
        printf(" No Errors\\n");
    fflush(stdout);
    /* The launcher may lose what was printed just before. */
    if (argc > 1 && !strcmp(argv[1], "-abort"))
        rank ? sleep(60) : (usleep(500000), MPI_Abort(MPI_COMM_WORLD, 7));
    MPI_Finalize();
    return 0;
}
"""
_PART = "int run(const char *arg) { return *arg; }\n"
_MAIN = """
#include <mpi.h>
#include <stdio.h>
int run(const char *arg);
int main(int argc, char **argv)
{
    int rank, wrong;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    wrong = run("");
    if (!rank && !wrong)
        puts("No Errors");
    MPI_Finalize();
    return wrong;
}
"""
_LIST = """
# a comment
@larger@sums 2 env=WANTED=1
@coll_error@sums 2 arg=-left-out
sums 3 arg=-wrong env=WANTED=1
sums 2 timeLimit=600
sums 3 arg=-forever env=WANTED=1
sums 2 env=WANTED=1 mem=20.1
sums 2 arg=-abort env=WANTED=1 mpiexecarg=-disable-auto-cleanup resultTest=TestStatusNoErrors
sums 2 resultTest=TestStatusNoErrors env=WANTED=1
part 2
broken 2
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Shaped as ``test/mpi`` of MPICH."""
    for name in ("util/mtest", "util/mtest_common", "util/mtest_thread", "util/dtypes", "dtpools/src/dtpools"):
        path = tmp_path / f"suite/{name}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"int {path.stem}_is_here;\n")
    (tmp_path / "suite/util/run_mpitests.c").write_text(_MAIN)
    folder = tmp_path / "suite/coll"
    folder.mkdir()
    (folder / "testlist.in").write_text(_LIST)
    (folder / "sums.c").write_text(_PROGRAM)
    (folder / "numbers.txt").write_text("1\n")
    (folder / "part.c").write_text(_PART)
    (folder / "broken.c").write_text("int main(void) { return nothing; }\n")
    return tmp_path / "suite"


def test_list(suite: Path) -> None:
    found = list(listed(suite, "coll"))
    assert found[0] == SuiteTest("coll", "sums", 2, (), {"WANTED": "1"})
    assert [test.name for test in found] == [
        "coll/sums 2", "coll/sums 3 -wrong", "coll/sums 2", "coll/sums 3 -forever", "coll/sums 2 -abort",
        "coll/sums 2", "coll/part 2", "coll/broken 2",
    ]
    assert (found[4].launcher, found[4].aborts, found[5].aborts) == (("-disable-auto-cleanup",), True, True)
    with pytest.raises(SuiteError, match=r"^suite: must be test/mpi of MPICH's sources, with comm/testlist, not "):
        list(listed(suite, "comm"))


def test_verdicts(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows_file = tmp_path / "rows.json"
    given = [str(suite), "--folder", "coll", "--build", str(tmp_path / "build"), "--json", str(rows_file)]
    # A run that hangs is ended.
    status = main([*given, "--seconds", "60", "--only", "sums 2", "--plain-seconds", "2"])
    rows = json.loads(rows_file.read_text())
    status |= main([*given, "--seconds", "5", "--only=-forever", "--plain-seconds", "2"])
    rows += json.loads(rows_file.read_text())
    assert [(row["test"], row["plain"]["verdict"], row["nics"]["verdict"]) for row in rows] == [
        ("coll/sums 2", "pass", "pass"), ("coll/sums 2", "fail", "fail"),
        ("coll/sums 2 -abort", "pass", "pass"), ("coll/sums 2", "fail", "fail"),
        ("coll/sums 3 -forever", "time-out", "time-out"),
    ]
    assert status == 0
    assert "coll/sums 3 -forever" in capsys.readouterr().out


def test_what_fails_on_the_nics_alone_is_an_error(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("testbench.mpich.__main__.CONIC", ["false"])
    given = [str(suite), "--folder", "coll", "--build", str(tmp_path / "build"), "--only", "sums 2"]
    assert main([*given, "--plain-seconds", "2", "--seconds", "2"]) == 1


def test_a_program_without_a_main_of_its_own(suite: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    given = [str(suite), "--folder", "coll", "--build", str(tmp_path / "build"), "--figures", str(figures)]
    assert main([*given, "--only", "part"]) == 0
    found = json.loads(figures.read_text())
    assert found["seconds"] == {"plain": 120.0, "nics": 300.0}
    row, = found["rows"]
    assert (row["test"], row["plain"]["verdict"], row["nics"]["verdict"]) == ("coll/part 2", "pass", "pass")
    assert set(row["nics"]) == {"verdict", "seconds"}


def test_what_does_not_compile(suite: Path, tmp_path: Path) -> None:
    rows_file = tmp_path / "rows.json"
    given = [str(suite), "--folder", "coll", "--build", str(tmp_path / "build"), "--json", str(rows_file)]
    assert main([*given, "--only", "broken"]) == 0
    row, = json.loads(rows_file.read_text())
    assert (row["plain"]["verdict"], "nothing" in row["plain"]["text"]) == ("build", True)
