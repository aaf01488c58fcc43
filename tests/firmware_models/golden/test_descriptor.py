"""Effects of single descriptor fields, with descriptors written by hand; and refusals of the executor."""

import numpy as np
import pytest

from firmware_models.abi.encoding import Kind, Operand, Operator, TraceKind
from firmware_models.abi.formats import DESCRIPTOR
from firmware_models.golden import ExecutionError, LeftoverError, Node, execute

RESULT, OTHER, END = 512, 1024, 2048


def desc(**fields):
    """A descriptor of job 1 on VP 0, for two elements."""
    return {"c": 1, "kind": Kind.RDMA, "job_id": 1, "length": 16, "pulse_bytes": 64, **fields}


def own(**fields):
    """One that takes its operand from memory."""
    return desc(operand=Operand.MEMORY, **fields)


def send(to, seq_id=0, **fields):
    """Fields of a send."""
    return {"cp": 1, "dest_id": to, "out_seq_id": seq_id, "peer": to, **fields}


def run(*sequences, seed=0, **options):
    """Executes one sequence per node; the operand of node n is [n + 1, 10 (n + 1)] at address 0."""
    nodes = []
    for number, sequence in enumerate(sequences):
        ends = [{"ch": int(k == 0), "ct": int(k == len(sequence) - 1)} for k in range(len(sequence))]
        ring = b"".join(DESCRIPTOR.pack(**end | fields) for fields, end in zip(sequence, ends, strict=True))
        memory = np.zeros(END, np.uint8)
        memory[:16] = np.array([number + 1, 10 * (number + 1)], np.float64).view(np.uint8)
        nodes.append(Node(node_id=number, descriptors=ring, memory=memory))
    return execute(nodes, seed=seed, **options)


def doubles(execution, node, addr=RESULT):
    """Two elements of a node's memory."""
    return execution.memories[node][addr : addr + 16].view(np.float64).tolist()


WRITE = {"write_back": 1, "result_addr": RESULT}


def test_combinations():
    """Packets replace, reduce, or only trigger, as descriptor and packet say."""
    def outcome(packet, **receiver):
        execution = run([desc(cp_count=1, **WRITE, **receiver)], [own(**send(0, **packet))])
        return doubles(execution, 0)

    assert outcome({}, operand=Operand.MEMORY) == [1, 10]
    assert outcome({}, operand=Operand.MEMORY, reduce_flag=1) == [3, 30]
    assert outcome({}, operand=Operand.MEMORY, swap_local_data=1) == [2, 20]
    assert outcome({"swap_remote_data": 1}, operand=Operand.MEMORY, reduce_flag=1) == [2, 20]
    assert outcome({"swap_remote_data": 1}, operand=Operand.MEMORY) == [2, 20]
    assert outcome({}, operand=Operand.NONE, reduce_flag=1, operator=Operator.MIN) == [2, 20]
    assert outcome({}, operand=Operand.NONE) == [0, 0]
    assert outcome({}, operand=Operand.INTERMEDIATE, reduce_flag=1, operator=Operator.MIN) == [0, 0]


def test_packets_in_seq_order():
    """Two packets of one descriptor: reduce the first, be replaced by the second, and the other way round."""
    def outcome(first, second):
        return doubles(run(
            [own(cp_count=2, reduce_flag=1, **WRITE)],
            [own(**send(0, 0, swap_remote_data=first))], [own(**send(0, 1, swap_remote_data=second))],
        ), 0)

    assert outcome(0, 0) == [6, 60]
    assert outcome(0, 1) == [3, 30]
    assert outcome(1, 0) == [5, 50]


def test_remote_address():
    """SwapRemoteAddr: the packet says where the result goes, pulse by pulse."""
    elements = np.arange(32.0)
    length = elements.nbytes
    sender = np.zeros(END, np.uint8)
    sender[:length] = elements.view(np.uint8)
    sequences = (
        [own(length=length, ch=1, ct=1, **send(1, swap_remote_addr=1, remote_addr=OTHER))],
        [desc(length=length, ch=1, ct=1, cp_count=1, swap_local_data=1, **WRITE)],
    )
    execution = execute([
        Node(node_id=number, descriptors=DESCRIPTOR.pack(**sequence[0]), memory=memory)
        for number, (sequence, memory) in enumerate(zip(sequences, (sender, np.zeros(END, np.uint8)), strict=True))
    ], seed=3)
    memory = execution.memories[1]
    assert memory[OTHER : OTHER + length].view(np.float64).tolist() == elements.tolist()
    assert not memory[RESULT : RESULT + length].any()
    assert execution.packets == 4


def test_collective_end():
    """A packet with CollEndFlag ends the sequence: the result is written, nothing is sent, the rest is skipped."""
    execution = run(
        [
            own(cp_count=1, reduce_flag=1, result_addr=RESULT, **send(1)),
            desc(operand=Operand.INTERMEDIATE, cp_count=2, **send(1, 1)),
        ],
        [own(**send(0, coll_end_flag=1))],
    )
    assert doubles(execution, 0) == [3, 30]
    assert execution.packets == 1
    assert [len(entries) for entries in execution.completions] == [1, 1]


def test_swapped_vp():
    """SwapLocalVP: the answer goes to the VP that the packet came from."""
    execution = run(
        [own(source_vp=5, **send(1)), desc(source_vp=5, cp_count=1, swap_local_data=1, **WRITE)],
        [own(cp_count=1, reduce_flag=1, swap_local_vp=1, **send(0, dest_vp=9))],
    )
    assert doubles(execution, 0) == [3, 30]


def test_completions_and_trace():
    """One completion an operation, with job, VP, bytes and tag; the trace tells what fired."""
    execution = run(
        [own(cp_count=1, reduce_flag=1, source_vp=3, tag=77, **WRITE)], [own(**send(0, dest_vp=3))], trace=True
    )
    assert execution.completions[0] == [{"status": 0, "kind": 0, "job_id": 1, "vp": 3, "bytes": 16, "tag": 77}]
    events = [record.event for record in execution.trace if record.node == 0]
    assert events == [
        TraceKind.OPERATION_START, TraceKind.PULSE_START, TraceKind.FIRE, TraceKind.PULSE_END, TraceKind.OPERATION_END
    ]
    assert execution.trace == sorted(execution.trace, key=lambda record: record.time)


@pytest.mark.parametrize("seed", range(5))
def test_operations_of_one_job(seed):
    """A node that is done early goes on to the next operation; its packets wait and are not confused."""
    receiver = [own(ch=1, ct=1, cp_count=1, reduce_flag=1, write_back=1, result_addr=RESULT + 64 * k) for k in range(8)]
    sender = [own(ch=1, ct=1, **send(0)) for _ in range(8)]
    execution = run(receiver, sender, seed=seed, peer_credits=4)
    assert all(doubles(execution, 0, RESULT + 64 * k) == [3, 30] for k in range(8))
    assert [len(entries) for entries in execution.completions] == [8, 8]
    assert execution.peak_packets[0] <= 4


@pytest.mark.parametrize("seed", range(5))
def test_jobs_side_by_side(seed):
    """Two jobs, each waiting for the other node in the opposite order: jobs do not hold each other up."""
    one = [own(ch=1, ct=1, job_id=1, cp_count=1, reduce_flag=1, **WRITE), own(ch=1, ct=1, job_id=2, **send(1))]
    two = [
        own(ch=1, ct=1, job_id=2, cp_count=1, reduce_flag=1, **WRITE),
        own(ch=1, ct=1, job_id=1, **send(0)),
    ]
    execution = run(one, two, seed=seed)
    assert doubles(execution, 0) == doubles(execution, 1) == [3, 30]


def test_memory_of_the_caller_is_left_alone():
    """Execution works on copies."""
    memory = np.zeros(END, np.uint8)
    ring = DESCRIPTOR.pack(**own(ch=1, ct=1, write_back=1, result_addr=8))
    memory[:8] = 255
    changed = execute([Node(node_id=0, descriptors=ring, memory=memory)], seed=0).memories[0]
    assert changed[8:16].all()
    assert not memory[8:].any()


def test_leftover():
    """A packet that nobody wants."""
    message = r"^nobody consumed 1 packets: packet \(job 1 VP 0 SeqID 4 pulse 0\) at node 0 from node 1$"
    with pytest.raises(LeftoverError, match=message):
        run([own(**WRITE)], [own(**send(0, 4))])


@pytest.mark.parametrize(("sequence", "message"), [
    ([own(ch=0)], "descriptor 0 of node 0: CH must be set on the first descriptor of a sequence and on no other"),
    ([own(), own(ch=1)], "descriptor 1 of node 0: CH must be set on the first descriptor"),
    ([own(ct=0)], "descriptors of node 0 end within a sequence: no CT"),
    ([own(), own(job_id=2)], "descriptor 1 of node 0: job_id must be 1 as in its sequence, not 2"),
    ([own(c=0)], "descriptor 0 of node 0: c = 0 is not executed by this model"),
    ([own(multicast=1)], "descriptor 0 of node 0: members = 0 is not executed by this model"),
    ([own(multicast=1, members=2, mlid=0xBFFF)], "descriptor 0 of node 0: mlid = 49151 is not executed by this model"),
    ([own(pulse_bytes=32)], "descriptor 0 of node 0: pulse_bytes = 32 is not executed by this model"),
    ([own(**send(7))], "dest_id of node 0 must be one of the cluster's, not 7"),
    ([own(write_back=1, result_addr=END - 8)], "address of node 0 must lie in its memory, not at 0x7f8 \\+ 16"),
    ([desc(operand=Operand.PAYLOAD, kind=Kind.MP, length=72, pulse_bytes=128)],
     "length of an MP descriptor must be at most 64, not 72"),
])
def test_refused(sequence, message):
    """One line that says which descriptor and what is wrong with it."""
    with pytest.raises(ExecutionError, match=message):
        run(sequence)


def test_other_refusals():
    """Lengths that differ; bytes that are no descriptors; reserved bits; a NodeID used twice; odd limits."""
    with pytest.raises(ExecutionError, match=r"packet .* at node 0 must have 16 bytes, not 8"):
        run([own(cp_count=1, reduce_flag=1)], [own(length=8, **send(0))])
    memory = np.zeros(END, np.uint8)
    with pytest.raises(ExecutionError, match=r"^descriptors of node 0 must be a multiple of 128 bytes, not 127$"):
        execute([Node(node_id=0, descriptors=bytes(127), memory=memory)], seed=0)
    dirty = bytearray(DESCRIPTOR.pack(**own(ch=1, ct=1)))
    offset = DESCRIPTOR.offset("reserved_0")
    dirty[offset // 8] |= 1 << offset % 8
    with pytest.raises(ExecutionError, match=r"^descriptor 0 of node 0: reserved_0 must be 0, not 1$"):
        execute([Node(node_id=0, descriptors=bytes(dirty), memory=memory)], seed=0)
    with pytest.raises(ExecutionError, match=r"^node_id must be used once"):
        execute([Node(node_id=0, descriptors=b"", memory=memory)] * 2, seed=0)
    with pytest.raises(ValueError, match=r"^peer_credits must be at least 1, not 0$"):
        run([own()], peer_credits=0)
