"""Intel's MPI benchmarks, a program of which there are no sources here, on the NICs."""

import re
import zipfile

import pytest

COLLECTIVES = {
    "Allreduce": 2, "Bcast": 2, "Reduce": 2, "Allgather": 2, "Alltoall": 2, "Gather": 2, "Scatter": 2,
    "Reduce_scatter": 2, "Allgatherv": 2, "Gatherv": 2, "Scatterv": 2, "Barrier": 1,
}
"""Benchmarks, and the lines that each prints for the two lengths."""
LENGTHS = (8, 4096)


@pytest.fixture
def imb(fetched, tmp_path):
    """The program."""
    with zipfile.ZipFile(fetched("impi-rt")) as wheel:
        name, = (name for name in wheel.namelist() if name.endswith("/bin/IMB-MPI1"))
        program = tmp_path / "IMB-MPI1"
        program.write_bytes(wheel.read(name))
    program.chmod(0o755)
    return program


def times(text):
    """Average microseconds by benchmark and bytes."""
    found = {}
    for part in re.split(r"#-+\n# Benchmarking ", text)[1:]:
        name = part.split()[0]
        for line in part.splitlines():
            fields = line.split()
            if name == "Barrier" and re.fullmatch(r"\s*\d+(\s+\d+\.\d+){3}", line):
                found[name, 0] = float(fields[3])
            elif re.fullmatch(r"\s*\d+\s+\d+(\s+\d+\.\d+){3}", line):
                found[name, int(fields[0])] = float(fields[4])
    return found


@pytest.mark.long
@pytest.mark.parametrize("check", [True, False], ids=["checked", "timed"])
def test_benchmarks(run, imb, tmp_path, capfd, check):
    """Each prints a time for each length, the NICs' own; every element that can be compared is MPICH's."""
    lengths = tmp_path / "lengths"
    lengths.write_text("".join(f"{length}\n" for length in LENGTHS))
    command = [str(imb), "-npmin", "4", "-iter", "4", "-iter_policy", "off", "-msglen", str(lengths), *COLLECTIVES]
    result = run("IMB-MPI1", ranks=4, command=command, frequency=500e6, compute_scale=0.0, check=check)
    printed = capfd.readouterr().out
    assert (result.code, result.error) == (0, None)
    assert "error" not in printed.lower()
    found = times(printed)
    sized = {name for name in COLLECTIVES if name != "Barrier"}
    assert {pair for pair in found if pair[1]} == {(name, length) for name in sized for length in LENGTHS}
    assert all(0.1 < microseconds < 20 for (_, length), microseconds in found.items() if length), found
    assert 0.1 < found["Barrier", 0] < 2
    operations = {row["operation"] for row in result.report["operations"]}
    assert operations >= set(COLLECTIVES)
    assert result.report["differing_elements"] == 0
    assert result.report["checked_elements"] > (10_000 if check else -1)
