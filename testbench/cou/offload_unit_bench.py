"""Drives a whole offload unit: sequences, packets in any order, a slow host, a slow network."""

from collections import Counter

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from firmware_models.abi import formats
from firmware_models.abi.encoding import CplKind, Right, Status
from testbench.clock import PERIOD_NS, cycles
from testbench.cou.message_shapes import in_blocks, shape_of, whole
from testbench.cou.operation_model import ELEMENTS, make_operation
from testbench.cou.single_operation import single_operation, single_packet
from testbench.cou.unit_driver import Unit
from testbench.coverage import cover, dealt
from testbench.packet import Packet
from testbench.runner import parameters, report, rng

SHAPES = (whole, in_blocks)
noted_operation = cover(
    "operations", shape=[shape.__name__ for shape in SHAPES], datatype=[datatype.name for datatype in ELEMENTS],
)


def _plain(packets: list[Packet]) -> list[tuple]:
    """Packets without what depends on credits, which is checked as they come."""
    left_out = {"tag": 0, "loan": 0, "want": 0}
    return [(tuple(sorted({**packet.header, **left_out}.items())), packet.payload) for packet in packets]


def _per_pulse(packets: list[Packet]) -> dict:
    """Packets by job and pulse, each of which has two ways to the link: their order is free."""
    groups: dict = {}
    for packet in packets:
        groups.setdefault((packet.header["job_id"], packet.header["pulse"]), []).append(packet)
    return {key: sorted(_plain(group)) for key, group in groups.items()}


@cocotb.test()
async def random_operations(dut):
    """Jobs side by side and one after the other, packets in random order, some of them long before their operation."""
    unit = Unit(dut)
    await unit.start(max_cycles=parameters().get("max_cycles", 15_000 * parameters()["rounds"]))
    flit = parameters()["data_width"] // 8
    mtu, n_rounds, n_jobs = parameters()["mtu"], parameters()["rounds"], parameters()["n_jobs"]
    base = Counter({3 + job: 0 for job in range(n_jobs)})
    expected, fired, credited, before = [], 0, Counter(), {}
    shape_names: dict[int, str] = {}
    shapes = dealt(unit.rng, [(draw, datatype) for draw in SHAPES for datatype in ELEMENTS])
    for number in range(n_rounds):
        operations = []
        for job in range(n_jobs):
            place = (number * n_jobs + job) * 4096
            draw, datatype = next(shapes)
            shape_names[number * 16 + job] = draw.__name__
            operation = make_operation(
                unit.rng, job_id=3 + job, vp=5 + job, base_pulse=base[3 + job], tag=number * 16 + job,
                local_addr=place, result_addr=place + 2048, **draw(unit.rng, flit, mtu, datatype),
            )
            unit.memory.data[place:place + 4096] = unit.rng.randbytes(4096)
            unit.memory.data[place:place + len(operation.operand)] = operation.operand
            before[operation.descriptors[0]["tag"]] = bytes(unit.memory.data[place + 2048:place + 4096])
            base[3 + job] += operation.n_pulses
            dut._log.info("round %d job %d: %s", number, 3 + job, shape_of(operation))
            operations.append(operation)
        arrivals = [packet for operation in operations for packet in operation.packets]
        # Peers ask for loans now and then, and find that they do not need them.
        wants = {id(packet): unit.rng.getrandbits(1) for packet in arrivals}
        unit.rng.shuffle(arrivals)
        early = unit.rng.randrange(len(arrivals) + 1)
        for packet in arrivals[:early]:
            unit.arrives(packet, want=wants[id(packet)])
        for operation in operations:
            await unit.submit(operation)
        for packet in arrivals[early:]:
            unit.arrives(packet, want=wants[id(packet)])
            await cycles(dut, unit.rng.choice((0, 0, 5, 50)))
        for operation in operations:
            expected.append(operation)
            fired += operation.n_pulses * len(operation.descriptors)
            for packet in operation.packets:
                credited[packet.header["source_id"], packet.header["source_vp"], packet.header["peer"]] += 1
        events = {event["tag"]: event for event in await unit.events.receive_all(n_jobs)}
        for operation in operations:
            head = operation.descriptors[0]
            assert events[head["tag"]] == {
                "vp": head["source_vp"], "status": Status.OK, "kind": CplKind.COLLECTIVE, "job_id": head["job_id"],
                "bytes": head["length"], "tag": head["tag"], "detail": 0,
            }
            at = head["result_addr"]
            written = bytes(unit.memory.data[at:at + 2048])
            assert written == operation.result(before[head["tag"]]), (
                f"job {head['job_id']} round {number}: another result, {shape_of(operation)}"
            )
            noted_operation(shape=shape_names[head["tag"]], datatype=head["datatype"].name)
    await cycles(dut, 300)
    await unit.rx[1].drain()
    await cycles(dut, 300)
    sent = [packet for operation in expected for packet in operation.sent]
    assert _per_pulse(unit.tx[0].received) == _per_pulse(sent)
    answers = [packet.header for packet in unit.tx[1].received if packet.header["credits"]]
    returned = Counter((header["dest_id"], header["dest_vp"], header["peer"]) for header in answers)
    assert returned == credited, "credits lost or made"
    assert all(header["credits"] == 1 for header in answers)
    assert unit.receivers.free == unit.pool, "loans that are not needed were kept"
    assert unit.figures().level == 0, "packets left behind"
    assert unit.figures().unlent == unit.pool, "loans lost or made"
    assert not unit.pool or any(header["loan"] for header in answers), "nothing was lent"
    arrived = Counter(packet.header["job_id"] for operation in expected for packet in operation.packets)
    assert unit.gone == arrived, "the job table takes jobs to be here that are not, or not to be here that are"
    assert not unit.busy
    assert not unit.owing, "credits are back, and the job table has no report"
    assert {job: unit.base[job] for job in base} == base
    assert int(dut.status__busy.value) == 0
    report(operations=len(expected), fired=fired)


@cocotb.test()
async def wrong_length_is_reported(dut):
    """A packet of another length than its slice is not added; the operation ends with an error all the same."""
    unit = Unit(dut)
    await unit.start()
    operation = single_operation(unit)
    await unit.submit(operation)
    unit.arrives(single_packet(payload=bytes(56)))
    event = await unit.events.receive()
    assert (event["status"], event["detail"]) == (Status.LENGTH_MISMATCH, 56 << 32)
    assert bytes(unit.memory.data[4096:4160]) == operation.operand


@cocotb.test()
async def memory_errors_are_reported(dut):
    """The host refuses the operand, or the result."""
    unit = Unit(dut)
    await unit.start()
    for pulse, (bad, detail) in enumerate(((512, 512), (4096, 0))):
        unit.memory.bad = {bad}
        await unit.submit(single_operation(unit, local_addr=512))
        unit.arrives(single_packet(pulse=pulse))
        event = await unit.events.receive()
        assert (event["status"], event["detail"]) == (Status.MEMORY_ERROR, detail), f"address {bad}"


@cocotb.test()
async def errors_of_jobs_stay_apart(dut):
    """Loads fail while packets of other jobs are too short: each operation ends with its own error, and its detail."""
    unit = Unit(dut)
    await unit.start(max_cycles=60_000)
    jobs = (9, 10, 11, 12)
    for round_ in range(min(12, parameters()["rounds"])):
        expected = {}
        for job in jobs:
            address = 1024 * job
            kind = unit.rng.choice(("load", "length", "both", "none"))
            unit.memory.bad.discard(address)
            if kind in ("load", "both"):
                unit.memory.bad.add(address)
            length = 56 if kind in ("length", "both") else 64
            # Of two errors the first one counts: its operand comes before its packet.
            expected[job] = {
                "none": (Status.OK, 0), "length": (Status.LENGTH_MISMATCH, round_ << 16 | 56 << 32),
            }.get(kind, (Status.MEMORY_ERROR, address))
            arrival = single_packet(job_id=job, pulse=round_, payload=bytes(length))
            operation = single_operation(unit, job_id=job, local_addr=address, tag=job)
            cocotb.start_soon(_arrives_after(unit, arrival, unit.rng.randrange(120)))
            await unit.submit(operation)
        events = await unit.events.receive_all(len(jobs))
        assert {event["job_id"]: (event["status"], event["detail"]) for event in events} == expected


async def _arrives_after(unit: Unit, packet: Packet, delay: int) -> None:
    await cycles(unit.dut, delay)
    unit.arrives(packet)


@cocotb.test()
async def watchdog_ends_a_wait_for_nothing(dut):
    """Without its packet an operation ends in TIMEOUT, names what it waited for, and frees everything."""
    unit = Unit(dut)
    await unit.start()
    dut.settings__watchdog.value = watchdog = 250
    waited = []
    for pulse, (wanted, there) in enumerate(((2, {0}), (1, set()), (9, {0, 1, 4, 6, 8}), (40, {1, 3}))):
        await unit.submit(single_operation(unit, cp_count=wanted))
        for seq_id in unit.rng.sample(sorted(there), len(there)):
            unit.arrives(single_packet(seq_id=seq_id, pulse=pulse))
        waits_from = get_sim_time("ns")
        event = await unit.events.receive()
        assert event["status"] == Status.TIMEOUT
        waited.append((get_sim_time("ns") - waits_from) / PERIOD_NS)
        consumed = next(seq_id for seq_id in range(33) if seq_id not in there)
        missing = {seq_id % 32 for seq_id in range(consumed, min(wanted, consumed + 32))} - there
        assert event["detail"] & 0xFFFFFFFF == consumed | pulse << 16
        assert event["detail"] >> 32 == sum(1 << seq_id for seq_id in missing), f"{missing} are missing"
        await cycles(dut, 50)
        assert int(dut.status__busy.value) == 0
    # Packets that arrive meanwhile are progress. The shortest wait has none of them, and begins some cycles later.
    assert watchdog <= min(waited) <= watchdog + 60
    # The unit still works.
    await unit.submit(single_operation(unit))
    unit.arrives(single_packet(pulse=4))
    assert (await unit.events.receive())["status"] == Status.OK
    # Without a credit nothing is missing but the credit.
    unit.returns = False
    share = parameters()["peer_credits"]
    await unit.submit(single_operation(unit, cp=1, cp_count=0, write_back=0, length=64 * (share + 1), peer=2))
    event = await unit.events.receive()
    assert (event["status"], event["detail"]) == (Status.TIMEOUT, (5 + share) << 16)


@cocotb.test()
async def end_flag_and_swapped_address(dut):
    """CollEndFlag stops the sending on; SwapRemoteAddr redirects the result, if the address is the VP's own."""
    unit = Unit(dut)
    await unit.start()
    for pulse, allowed in enumerate((True, False)):
        unit.refuse_window = not allowed
        operation = single_operation(unit, cp=1, write_back=0)
        unit.memory.data[8192:8256] = bytes(64)
        await unit.submit(operation)
        # Whatever bits it has, an address is asked about, and reported, whole.
        address = 8192 if allowed else 8192 | rng("swapped").getrandbits(32) << 32
        ending = {"coll_end": 1, "swap_addr": 1, "swap_data": 1, "addr": address}
        unit.arrives(single_packet(pulse=pulse, payload=operation.operand, **ending))
        event = await unit.events.receive()
        assert event["status"] == (Status.OK if allowed else Status.BAD_ADDRESS)
        assert event["detail"] == (0 if allowed else address)
        assert bytes(unit.memory.data[8192:8256]) == (operation.operand if allowed else bytes(64))
    assert unit.rights == [Right.REMOTE_WRITE] * 2, "a peer named the address"
    # Ended without an address: the result goes where the descriptor says, which nobody has checked yet.
    address = 4096 | 1 << 63 | 1 << 32
    await unit.submit(single_operation(unit, cp=1, write_back=0, result_addr=address))
    unit.arrives(single_packet(pulse=2, coll_end=1))
    event = await unit.events.receive()
    assert (event["status"], event["detail"]) == (Status.BAD_ADDRESS, address)
    assert unit.rights[2:] == [Right.LOCAL_WRITE], "this VP named the address"
    await cycles(dut, 100)
    assert not unit.tx[0].received


@cocotb.test()
async def swapped_vp(dut):
    """SwapLocalVP answers to the VP that the packet came from."""
    unit = Unit(dut)
    await unit.start()
    await unit.submit(single_operation(unit, cp=1, swap_local_vp=1, dest_vp=100))
    unit.arrives(single_packet(source_vp=321))
    await unit.events.receive()
    # Queues may still hold what the unit has sent.
    await unit.tx[0].receive()
    assert [packet.header["dest_vp"] for packet in unit.tx[0].received] == [321]


@cocotb.test()
async def aborted_sequence_leaves_nothing(dut):
    """A sequence that the scheduler takes back executes nothing and frees its entry."""
    unit = Unit(dut)
    await unit.start()
    operation = single_operation(unit, cp_count=0, cp=1)
    for _ in range(2 * parameters()["n_jobs"]):
        unit.busy.add(9)
        await unit.probe.send({"job_id": 9, "base_pulse": 0}, sync=True)
        assert (await unit.answer.receive())["ok"]
        bits = formats.DESCRIPTOR.to_int(operation.descriptors[0])
        unit.descriptor.append({"desc": bits, "last": 1, "abort": 1})
        await unit.descriptor.drain()
        while unit.busy:
            await RisingEdge(dut.clk)
    await cycles(dut, 100)
    assert not unit.tx[0].received
    assert unit.base[9] == 0
    assert not unit.events.received
    assert int(dut.status__busy.value) == 0


@cocotb.test()
async def busy_job_is_refused(dut):
    """A job has one operation at a time; another job is taken meanwhile."""
    unit = Unit(dut)
    await unit.start()
    await unit.submit(single_operation(unit))
    await unit.probe.send({"job_id": 9, "base_pulse": 1}, sync=True)
    assert not (await unit.answer.receive())["ok"]
    assert unit.busy == {9}
    other = single_operation(unit, job_id=10, cp_count=0)
    await unit.submit(other)
    assert (await unit.events.receive())["job_id"] == 10
    unit.arrives(single_packet())
    assert (await unit.events.receive())["job_id"] == 9


@cocotb.test()
@cocotb.skipif(not parameters().get("ecc"), reason="the build has no error correction")
async def damaged_packets(dut):
    """An uncorrectable error ends the operation that consumes the packet, and no other; a correctable one ends none."""
    unit = Unit(dut)
    await unit.start(max_cycles=100_000)
    for base, (target, bits) in enumerate(((1, 2), (3, 2), (2, 2), (1, 1), (2, 1), (3, 1))):
        while True:
            hit, spared = (
                make_operation(
                    unit.rng, job_id=3 + job, vp=5 + job, base_pulse=base, length=64, pulse_bytes=64,
                    local_addr=4096 * job, result_addr=4096 * job + 2048, tag=job, n_descriptors=2, max_packets=4,
                )
                for job in range(2)
            )
            if hit.packets and any(desc["reduce_flag"] | desc["swap_local_data"] for desc in hit.descriptors):
                break
        for job, operation in enumerate((hit, spared)):
            if operation.descriptors[0]["local_addr"]:
                unit.memory.data[4096 * job:4096 * job + 64] = operation.operand
            elif operation.descriptors[0]["kind"] == 1:
                unit.memory.data[0:64] = operation.operand
        await unit.spoil(target, bits)
        for packet in hit.packets + spared.packets:
            unit.arrives(packet)
        await unit.rx[0].drain()
        await cycles(dut, 20)
        for operation in (hit, spared):
            await unit.submit(operation)
        status = {event["tag"]: event["status"] for event in await unit.events.receive_all(2)}
        assert status[1] == Status.OK
        # Of a payload only what is computed with matters.
        if target == 1 and bits == 2:
            assert status[0] == Status.BUFFER_ERROR
        elif target == 2 or bits == 1:
            assert status[0] == Status.OK
        else:
            assert status[0] in (Status.OK, Status.BUFFER_ERROR)
        await cycles(dut, 100)
        assert unit.figures().level == 0
    assert unit.figures().corrected
