"""Programs of two units: those that are right, and those in which something goes wrong on purpose."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from firmware_models.config import Config
from testbench.offload_unit.memory import HostMemory
from testbench.offload_unit.pair import Pair
from testbench.offload_unit.programs import Author, Conversation
from testbench.offload_unit.record import Packet

Scenario = Callable[[Sequence[Any], Config, random.Random, int], Pair]
FIRST_JOB = 3


def _pair(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> tuple[Pair, Author]:
    return Pair(units, config, n_rooms=count, rng=rng), Author(config, rng)


def random_programs(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> Pair:
    """Conversations of as many jobs as there are entries, each job's one after the other."""
    pair, author = _pair(units, config, rng, count)
    for number in range(count):
        pair.post(author.conversation(FIRST_JOB + number % config.cou.n_jobs))
    return pair


def errors(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> Pair:
    """Conversations in which terms, lengths, addresses or host memory go wrong; they end all the same."""
    pair, author = _pair(units, config, rng, count)
    for number in range(count):
        kind = rng.choice(("terms", "length", "window", "operand", "result"))
        terms = (rng.getrandbits(16), rng.getrandbits(16)) if kind == "terms" else None
        conversation = author.conversation(FIRST_JOB + number % config.cou.n_jobs, terms=terms)
        _spoil(conversation, kind, pair.nodes[rng.randrange(2)].memory, rng)
        pair.post(conversation)
    return pair


def _spoil(conversation: Conversation, kind: str, memory: HostMemory, rng: random.Random) -> None:
    """Lets something go wrong at one node. Pieces of a message in blocks begin anywhere, so memory spares these."""
    place, is_cut = conversation.place, conversation.descriptors[0][0]["block_count"] > 1
    if kind == "window":
        memory.refused |= {place + 1024, place + 3072}
    elif kind == "operand" and not is_cut:
        memory.bad.add(place)
    elif kind == "result" and not is_cut:
        memory.bad |= {place + 1024, place + 3072}
    elif kind == "length" and is_cut:
        wide = [desc for descriptors in conversation.descriptors for desc in descriptors if desc["slice_count"] > 1]
        if wide:
            rng.choice(wide)["slice_count"] -= 1


def closed_jobs(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> Pair:
    """A job is closed while its operation waits or goes on, and used again; others go on."""
    pair, author = _pair(units, config, rng, 3 * count)
    first = FIRST_JOB

    def close() -> None:
        for node in pair.nodes:
            node.around.order(first, closed=True)

    for _ in range(count):
        conversations = [author.conversation(first + job) for job in range(min(2, config.cou.n_jobs))]
        again = author.conversation(first)

        def post(conversations: list[Conversation] = conversations) -> None:
            for conversation in conversations[1:]:
                pair.post(conversation)
            for place in rng.choice(((0, 1), (0,), (1,))):
                pair.nodes[place].post(conversations[0], place)
            pair.timed[pair.cycle + rng.randrange(40, 300)] = close

        def reopen(again: Conversation = again) -> None:
            for node in pair.nodes:
                node.around.order(first, closed=False)
            pair.timed[pair.cycle + 50] = lambda: pair.post(again)

        pair.script += [post, reopen]
    return pair


def duplicates(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> Pair:
    """Packets come a second time before anybody takes them."""
    pair, author = _pair(units, config, rng, count)
    jobs = [FIRST_JOB + number % config.cou.n_jobs for number in range(count)]
    conversations = [author.conversation(job, swaps=False) for job in jobs]
    first = {conversation.descriptors[0][0]["job_id"]: conversation for conversation in conversations[::-1]}

    def repeat() -> None:
        for packet in pair.nodes[0].monitor.recording.of("rx[0]"):
            pair.arrive(0, packet.changed(loan=0, tag=0))

    def post_the_rest() -> None:
        for conversation in conversations:
            if conversation is not first[conversation.descriptors[0][0]["job_id"]]:
                pair.nodes[1].post(conversation, 1)
            pair.nodes[0].post(conversation, 0)

    for conversation in first.values():
        pair.nodes[1].post(conversation, 1)
    pair.timed |= {400: repeat, 700: post_the_rest}
    return pair


def lost_credits(units: Sequence[Any], config: Config, rng: random.Random, count: int) -> Pair:
    """Credits of a job are lost on their way, and written off once it is closed; then it works as new."""
    pair, author = _pair(units, config, rng, 2 * count)
    lost = [0, 0]
    first = FIRST_JOB

    def lose(place: int) -> Callable[[Packet], None]:
        deliver = pair.nodes[place].around.sent[1]

        def pass_on(packet: Packet) -> None:
            if packet.header["job_id"] == first and not pair.script_done:
                lost[place] += packet.header["loan"] if packet.header["credits"] else 0
                if packet.header["credits"]:
                    return
            deliver(packet)
        return pass_on

    def close() -> None:
        for node in pair.nodes:
            node.around.order(first, closed=True)

    def write_off() -> None:
        for place, node in enumerate(pair.nodes):
            node.around.write_off(first, lost=lost[place])

    def reopen() -> None:
        pair.script_done = True
        for node in pair.nodes:
            node.around.order(first, closed=False)
        pair.timed[pair.cycle + 50] = lambda: [pair.post(each) for each in later]

    pair.script_done = False
    for place in range(2):
        pair.nodes[place].around.sent[1] = lose(place)
    for number in range(count):
        pair.post(author.conversation(first + number % config.cou.n_jobs))
    later = [author.conversation(first + number % config.cou.n_jobs) for number in range(count)]
    pair.timed |= {1500: close, 2500: write_off}
    pair.script.append(reopen)
    return pair


SCENARIOS: dict[str, Scenario] = {
    "random programs": random_programs, "errors": errors, "closed jobs": closed_jobs, "duplicates": duplicates,
    "lost credits": lost_credits,
}
