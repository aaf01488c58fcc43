"""The reference arithmetic against MPICH itself, bit for bit, algorithm by algorithm."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from firmware_models.config import load_preset
from firmware_models.golden import mismatched_bits, reference, sha256
from sim.collective import CollectiveRequest, verify
from sim.mpi.mpich import MPICH_ALGORITHMS

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("rank_program.py")
VARIABLES = {pair: names for pair, names in MPICH_ALGORITHMS.items() if pair[0] != "broadcast"}  # nothing is added
SIZES = (1, 7, 1000, 4096)
pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the package mpich is not installed")


def mpich(folder, collective, algorithm, arrays, roots):
    """Results of all ranks for every array and root, by MPICH's algorithm of this kind."""
    name, value = VARIABLES[collective, algorithm]
    np.savez(folder / "inputs.npz", **arrays)
    np.savez(folder / "none.npz")
    # MPI_Init itself reduces one element, which this algorithm cannot: there, and nowhere else, it may take another.
    strict = (collective, algorithm) != ("allreduce", "rabenseifner")
    environment = os.environ | {
        f"MPIR_CVAR_{name}_INTRA_ALGORITHM": value, f"MPIR_CVAR_{name}_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none", "MPIR_CVAR_COLLECTIVE_FALLBACK": "error" if strict else "print",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }
    n_nodes = len(next(iter(arrays.values())))
    fallbacks = []
    for inputs in ("inputs.npz",) if strict else ("none.npz", "inputs.npz"):
        done = subprocess.run(
            [MPIEXEC, "-n", str(n_nodes), sys.executable, PROGRAM, folder / inputs, folder / "outputs.npz",
             collective, *map(str, roots)],
            env=environment, timeout=300, capture_output=True, text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        fallbacks.append((done.stdout + done.stderr).count("is not usable"))
    assert fallbacks == ([0] if strict else fallbacks[:1] * 2), fallbacks
    return np.load(folder / "outputs.npz")


def compare(folder, collective, algorithm, n_nodes, sizes=SIZES):
    """Elements compared; fails at the first result that differs from the reference."""
    rng = np.random.default_rng(n_nodes)
    arrays = {}
    for size in sizes:
        shape = (n_nodes, size * n_nodes if collective == "reduce-scatter" else size)
        if collective == "reduce-scatter" and size > 1000:
            continue
        if algorithm == "rabenseifner" and size < 1 << (n_nodes.bit_length() - 1):
            continue  # MPICH refuses to halve less than an element a rank
        # Both signs and magnitudes far apart: nearly every element tells one order of summation from another.
        arrays[f"x{size}"] = rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 9, shape)
    roots = sorted({0, 1, n_nodes - 1}) if collective == "reduce" else [0]
    compared = 0
    outputs = mpich(folder, collective, algorithm, arrays, roots)
    for name, inputs in arrays.items():
        for root in roots:
            golden = reference(collective, algorithm, inputs, root=root)
            got = outputs[f"{name}.{root}"]
            rows = golden.receives
            assert mismatched_bits(got[rows], golden.results[rows]) == 0, (n_nodes, name, root)
            compared += got[rows].size
    return compared


@pytest.mark.parametrize(("collective", "algorithm"), VARIABLES)
def test_mpich_bits(collective, algorithm, tmp_path):
    """A count at which the trees differ: every bit of every rank."""
    compared = compare(tmp_path, collective, algorithm, 5)
    print(f"{collective} {algorithm}: {compared} elements compared with MPICH, 0 differ")
    assert compared > 1000


@pytest.mark.long
@pytest.mark.parametrize(("collective", "algorithm"), VARIABLES)
def test_mpich_bits_at_all_counts(collective, algorithm, tmp_path):
    """2 to 23 ranks."""
    compared = sum(compare(tmp_path, collective, algorithm, n_nodes) for n_nodes in range(2, 24))
    print(f"{collective} {algorithm}: {compared} elements compared with MPICH at 2 to 23 ranks, 0 differ")


def test_wrong_order_is_seen(tmp_path):
    """Negative control: MPICH's ring does not have the bits of its recursive doubling."""
    inputs = np.random.default_rng(9).standard_normal((5, 1000)) * 1e3
    (got,) = mpich(tmp_path, "allreduce", "ring", {"x": inputs}, [0]).values()
    assert mismatched_bits(got, reference("allreduce", "ring", inputs).results) == 0
    assert mismatched_bits(got, reference("allreduce", "recursive-doubling", inputs).results) > 0


def hardware_and_mpich(folder, algorithm, *, nodes, size, orders):
    """The sha256 of an allreduce on the RTL under `orders` arrival orders, which must agree, and that of MPICH's."""
    request = CollectiveRequest(
        collective="allreduce", algorithm=algorithm, nodes=nodes, size=size, config=load_preset("small"),
        preset="small",
    )
    ours = verify(request, orders=orders)
    assert (ours.distinct_results, ours.mismatched_bits) == (1, 0)
    (theirs,) = mpich(folder, "allreduce", algorithm, {"x": request.data(0)}, [0]).values()
    return ours.sha256, sha256(np.stack([theirs]))


@pytest.mark.parametrize("algorithm", ["rabenseifner", "ring"])
def test_bits_of_the_hardware(algorithm, tmp_path):
    """The NIC's RTL at a count where algorithms differ in the order of their sums."""
    ours, theirs = hardware_and_mpich(tmp_path, algorithm, nodes=5, size=1000, orders=2)
    assert ours == theirs


@pytest.mark.long
def test_a_hundred_orders(tmp_path):
    """Prints the result of ``conic verify allreduce --algorithm rabenseifner --nodes 8 --size 64KiB --orders 100``."""
    ours, theirs = hardware_and_mpich(tmp_path, "rabenseifner", nodes=8, size=65536, orders=100)
    print(f"100 orders on the RTL, and MPICH: {ours}")
    assert ours == theirs
