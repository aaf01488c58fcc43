"""Which programs are launched, beside what, and what is said of those whose calls are not seen."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from sim.mpi.sections import Section, SectionError, parse_sections

PROGRAMS = Path(__file__).with_name("programs")
CONIC = [sys.executable, "-m", "sim.cli.main", "mpiexec", "-n", "2"]


@pytest.mark.parametrize(("ranks", "words", "sections"), [
    (2, "a x y", [(2, "a x y")]),
    (2, "a : -n 1 b", [(2, "a"), (1, "b")]),
    (1, "a : -np 3 b z : c", [(1, "a"), (3, "b z"), (1, "c")]),
    (1, "a -n 2 : b -n 3", [(1, "a -n 2"), (1, "b -n 3")]),
    (1, "a : -env A 1 -n 2 -env B b c -env", [(1, "a"), (2, "c -env")]),
])
def test_sections(ranks, words, sections):
    found = parse_sections(ranks, words.split())
    assert [(section.ranks, " ".join(section.command)) for section in found] == sections


@pytest.mark.parametrize(("words", "message"), [
    (": a", "PROGRAM: must stand in front of ':'"), ("a : : b", "PROGRAM behind ':': is required"),
    ("a : -n 64 b", "-n: must be 1 to 64 in all, not 66"), ("a : -n", "-n behind ':': must be 1 to 64, not ''"),
    ("a : -n -1 b", "-n behind ':': must be 1 to 64, not '-1'"),
    ("a : -host h b", "options behind ':': must be -n, -np or -env, not '-host'"),
])
def test_sections_that_cannot_be_launched(words, message):
    with pytest.raises(SectionError) as caught:
        parse_sections(2, words.split())
    assert str(caught.value) == message


def test_several_programs(run, compiled, capfd):
    """One MPI_COMM_WORLD of all of them, rank by rank in their order."""
    world = compiled("world.c")
    sections = [Section(2, [world, "first"]), Section(1, [world, "second"])]
    result = run("world.c", ranks=3, sections=sections)
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 3)
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == ["first: 0 of 3, sum 3", "first: 1 of 3, sum 3", "second: 2 of 3, sum 3"]


def test_variables_and_folder(compiled, tmp_path):
    """Those of all processes, those of one program, and where they run: as MPICH's mpiexec has it."""
    command = 'echo "$PMI_RANK $ALL $OWN $PWD"; exec $0'
    words = ["-wdir", str(tmp_path), "-genv", "ALL", "all", "-env", "OWN", "first", "sh", "-c", command,
             compiled("world.c"), ":", "-n", "1", "-env", "OWN", "second", "sh", "-c", command, compiled("world.c")]
    ended = subprocess.run([*CONIC, *words], capture_output=True, text=True, check=True, timeout=120)
    lines = [line for line in ended.stdout.splitlines() if "all" in line]
    assert sorted(lines) == [f"{rank} all {own} {tmp_path}" for rank, own in enumerate(("first", "first", "second"))]


def test_the_users_own_library_is_loaded_too(run, compiled, capfd, tmp_path, monkeypatch):
    source, library = tmp_path / "own.c", tmp_path / "libown.so"
    source.write_text('#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void here(void) {\n'
                      '    if (getenv("PMI_RANK")) fprintf(stderr, "own: rank %s\\n", getenv("PMI_RANK"));\n}\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    world = compiled("world.c")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    result = run("world.c", ranks=2, command=[world])
    assert (result.code, result.report["offloaded"]) == (0, 2)
    lines = capfd.readouterr().err.splitlines()
    assert sorted(line for line in lines if line.startswith("own: ")) == ["own: rank 0", "own: rank 1"]


def test_a_wrapper_of_the_user_is_named(run, compiled, tmp_path, monkeypatch):
    """A profiler's MPI_ functions are behind conic's: that is said, and so are PMPI_ calls beside others."""
    source, library = tmp_path / "wrapper.c", tmp_path / "libwrapper.so"
    source.write_text("int PMPI_Barrier(int);\nint MPI_Barrier(int comm) { return PMPI_Barrier(comm); }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    result = run("world.c", ranks=2, command=[compiled("world.c", "-DBESIDE")])
    assert (result.code, result.report["offloaded"]) == (0, 2)
    hidden = "MPI_Barrier of libwrapper.so (LD_PRELOAD) are not called: conic's stand before them"
    assert result.report["note"] == (
        "world--DBESIDE calls PMPI_Allreduce: what is called by PMPI_ names is MPI's, and is not counted; " + hidden
    )
    plain = run("world.c", ranks=2, command=[compiled("world.c")])
    assert plain.report["note"] == hidden
    monkeypatch.delenv("LD_PRELOAD")
    assert run("world.c", ranks=2, command=[compiled("world.c")]).report["note"] is None


@pytest.fixture
def linked(tmp_path):
    """The program `world.c` linked with a library of that name, which has no more than the names of MPI's calls."""
    def call(library):
        names = ("Init", "Comm_rank", "Comm_size", "Allreduce", "Finalize")
        source, stub, program = tmp_path / "stub.c", tmp_path / library, tmp_path / "program"
        lines = [f"void MPI_{name}(void) {{ abort(); }}" for name in names]
        source.write_text("\n".join(["#include <stdlib.h>", *lines, ""]))
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", stub, f"-Wl,-soname,{library}", source], check=True)
        include = Path(sys.executable).parents[1] / "include"
        subprocess.run(
            ["gcc", f"-I{include}", "-o", program, PROGRAMS / "world.c", stub, f"-Wl,-rpath,{tmp_path}"], check=True
        )
        return str(program)

    return call


@pytest.mark.parametrize("library", ["libmpich.so.12", "libmpi.so.12"])
def test_programs_of_the_same_abi(run, linked, library):
    """They get the MPICH of conic, wherever theirs is."""
    result = run("world.c", ranks=2, command=[linked(library)])
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 2)


@pytest.mark.parametrize(("library", "mpi"), [
    ("libmpi.so.40", "Open MPI"), ("libmpi.so.20", "Open MPI"), ("libmpich.so.10", "an old MPICH"),
    ("libmpi_abi.so.1", "the ABI of MPI 5, compiled by mpicc_abi"),
])
def test_programs_of_another_abi(run, linked, capfd, library, mpi):
    """One line for all ranks."""
    program = linked(library)
    result = run("world.c", ranks=2, command=[program])
    assert result.code == 1
    said, = [line for line in capfd.readouterr().err.splitlines() if line.startswith("conic mpiexec: ")]
    assert said == (
        f"conic mpiexec: {program} is linked with {library} ({mpi}): it must be linked with MPICH, or with another MPI "
        "of its ABI (libmpi.so.12, libmpich.so.12), as mpicc beside conic does"
    )


def test_a_session_is_counted(run, compiled):
    result = run("session.c", ranks=2, command=[compiled("session.c")])
    assert (result.code, result.error, result.report["note"]) == (0, None, None)
    reason = "not between MPI_Init and MPI_Finalize of MPI_COMM_WORLD"
    assert result.report["passed"] == [{"operation": "Allreduce", "reason": reason, "calls": 2}]


def test_a_session_stays_open(run, compiled):
    """MPI keeps MPI_COMM_SELF then: the end of its attributes is not the program's."""
    program = compiled("world.c", "-DOPEN_SESSION")
    result = run("world.c", ranks=2, command=[program])
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 2)


def test_mpi_is_begun_by_another_name(run, compiled):
    """As modules of Fortran do."""
    program = compiled("world.c", "-DMPI_Init=PMPI_Init", "-DMPI_Finalize=PMPI_Finalize")
    result = run("world.c", ranks=2, command=[program])
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 2)


def test_what_is_not_seen_is_said(run, compiled):
    """Programs all of whose calls are by other names, and such as have none."""
    by_other_name = run("world.c", ranks=2, command=[compiled("world.c", "-DMPI_Allreduce=PMPI_Allreduce")])
    assert (by_other_name.code, by_other_name.error, by_other_name.report["calls"]) == (0, None, 0)
    assert "calls PMPI_Allreduce: what is called by PMPI_ names is MPI's" in by_other_name.report["note"]
    without = run("true", ranks=2, command=["true"])
    assert (without.code, without.error) == (0, None)
    assert "no rank has begun MPI by an MPI_ name" in without.report["note"]


@pytest.mark.parametrize(("limit", "most", "said"), [
    (resource.RLIMIT_AS, 3 << 30, None),
    (resource.RLIMIT_AS, 20 << 30, None),
    # Too little for the simulator, or for the memory of a rank: which it is depends on what else is loaded.
    (resource.RLIMIT_AS, 420_000_000, "conic mpiexec: the limit of address space (ulimit -v) "),
    (resource.RLIMIT_NOFILE, 10, "conic mpiexec: the limit of open files (ulimit -n) is too low"),
])
def test_limits(small, compiled, limit, most, said):
    """They are kept to, or named in one line."""
    assert small
    done = subprocess.run(
        [*CONIC, compiled("world.c")], capture_output=True, text=True, check=False, timeout=60,
        preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
    )
    assert "Traceback" not in done.stderr
    if said is None:
        assert (done.returncode, done.stdout.count("sum 1")) == (0, 2)
    else:
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(said)


def test_a_program_of_one_rank(run):
    """Its collectives are MPI's own."""
    program = [sys.executable, "-c", "from mpi4py import MPI; assert MPI.COMM_WORLD.allreduce(3) == 3"]
    result = run("", sections=[Section(1, program)], ranks=2)
    assert (result.code, result.error, result.report["offloaded"]) == (0, None, 0)
    assert {row["reason"] for row in result.report["passed"]} == {"a communicator of one rank"}
