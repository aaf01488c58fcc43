"""Every algorithm on the RTL, those that cut messages into blocks above all."""

from dataclasses import replace

import pytest

from firmware_models.config import load_preset
from firmware_models.host import collective as subject
from firmware_models.schedule import algorithm_names, build, collective_names
from sim.cluster.stalls import random_stalls
from sim.collective import CollectiveRequest, run_collective
from testbench.unit_config import UNIT

SMALL = load_preset("small")
WIDE = UNIT.changed(
    datapath={"data_width": 256, "mtu": 512}, nic={"n_cous": 1},
    cou={"n_peers": 8, "peer_credits": 2, "sequence_depth": 64, "buffer_bytes": 65536, "n_blocks": 16},
    reduce={"add_cycles": 5},
)
EVERY = [(name, way) for name in collective_names() for way in algorithm_names(name)]
IN_BLOCKS = [names for names in EVERY if build(*names, n_nodes=4).block_count > 1]


def request_for(collective, algorithm, nodes, elements, *, config=SMALL, item=8, **fields):
    """A request for so many elements; where blocks have to be equal, for the next number that allows it."""
    schedule = build(collective, algorithm, n_nodes=nodes)
    if schedule.equal_blocks:
        elements += -elements % nodes
    return CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=nodes, size=elements * item * schedule.moves_data,
        config=config, preset="small", **fields,
    )


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_every_algorithm(collective, algorithm):
    """Every bit is the golden model's; more than one pulse, and blocks of unequal size."""
    for nodes, elements in ((3, 77), (4, 130)):
        result = run_collective(request_for(collective, algorithm, nodes, elements))
        assert result.mismatched_bits == 0, (nodes, elements)
        assert len(result.completions) == nodes


@pytest.mark.long
@pytest.mark.parametrize("nodes", [2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_every_algorithm_at_any_count(collective, algorithm, nodes):
    """Up to 16 nodes; fewer elements than blocks, one a block, many pulses."""
    for elements in (1, nodes - 1, nodes, 1000, 4096):
        result = run_collective(request_for(collective, algorithm, nodes, elements))
        assert result.mismatched_bits == 0, elements


@pytest.mark.parametrize(("collective", "algorithm"), IN_BLOCKS)
def test_elements_smaller_than_a_flit(collective, algorithm):
    """Singles: blocks and pieces begin within flits."""
    result = run_collective(request_for(collective, algorithm, 3, 125, item=4, dtype="float32"))
    assert result.mismatched_bits == 0


def test_bytes():
    """Data that is only moved may be cut anywhere."""
    for collective, algorithm in (("allgather", "ring"), ("scatter", "binomial"), ("broadcast", "double-binary-tree")):
        result = run_collective(request_for(collective, algorithm, 3, 461, item=1, dtype="uint8"))
        assert result.mismatched_bits == 0, collective


@pytest.mark.parametrize("pulse_bytes", [16, *(pytest.param(size, marks=pytest.mark.long) for size in (48, 128))])
def test_sizes_at_boundaries(pulse_bytes):
    """Blocks of a pulse or two, an element less and an element more; the last one shorter, or empty."""
    for block in (pulse_bytes // 8, 2 * pulse_bytes // 8):
        for elements in (4 * (block - 1) + 1, 4 * block - 1, 4 * block, 4 * block + 1):
            result = run_collective(request_for("allreduce", "rabenseifner", 4, elements, pulse_bytes=pulse_bytes))
            assert result.mismatched_bits == 0, elements


def test_empty_blocks():
    """Fewer elements than nodes: packets without data keep the order all the same."""
    for collective, algorithm in IN_BLOCKS:
        request = request_for(collective, algorithm, 5, 3)
        assert run_collective(request).mismatched_bits == 0, (collective, algorithm)


def test_roots():
    """Every root, where blocks go round the last rank."""
    for names in (("reduce", "rabenseifner"), ("scatter", "binomial"), ("gather", "binomial")):
        for root in (1, 4):
            assert run_collective(request_for(*names, 5, 50, root=root)).mismatched_bits == 0, (names, root)


def test_jobs_and_stalls():
    """Jobs side by side under random delays."""
    for algorithm, seed in (("ring", 1), ("rabenseifner", 2)):
        request = request_for("allreduce", algorithm, 4, 200, jobs=4, stalls=random_stalls(seed), seed=seed)
        assert run_collective(request, check_boundary=True).mismatched_bits == 0


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32", "double_int"])
@pytest.mark.parametrize(("collective", "algorithm"), IN_BLOCKS)
def test_wide_data_path(collective, algorithm, dtype):
    """256 bits: no element fills a flit."""
    item = {"float64": 8, "float32": 4, "double_int": 16}[dtype]
    for nodes, elements in ((4, 37), (5, 250)):
        request = request_for(
            collective, algorithm, nodes, elements, config=WIDE, item=item, dtype=dtype,
            op="minloc" if dtype == "double_int" else "sum",
        )
        assert run_collective(request).mismatched_bits == 0, (nodes, elements)


def test_wrong_blocks_are_seen(monkeypatch):
    """A rank whose slice is off by one block: other bits, or an error."""
    pack = subject.pack_sequence

    def shifted(sequence):
        fields = [dict(desc) for desc in sequence]
        if fields[0]["source_vp"] == 0 and fields[-1].get("write_back"):
            fields[-1]["slice_first"] = (fields[-1]["slice_first"] + 1) % fields[-1]["block_count"]
        return pack(fields)

    monkeypatch.setattr(subject, "pack_sequence", shifted)
    assert run_collective(request_for("allgather", "ring", 3, 30)).mismatched_bits > 0


def test_refused_pulse():
    """A packet that would be longer than the mtu is refused before anything is built."""
    request = replace(request_for("allreduce", "rabenseifner", 8, 512), pulse_bytes=528)
    with pytest.raises(Exception, match=r"pulse_bytes must be a multiple of 16 from 16 to 512 "):
        run_collective(request)
