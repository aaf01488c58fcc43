"""Delivers each message as a connection manager does, compiled."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from firmware_models.connections.layout import reaches, relay
from firmware_models.connections.store import (
    CONNECTED,
    LAST_PHASE,
    OLDEST,
    OWN_OLDEST,
    PROCESS_LIVE,
    TWIN,
    USES,
    Store,
    close,
    connect,
    find,
    insert,
    touch,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SELF, STATIC, DYNAMIC, PROXIED, HANDSHAKES, EVICTED, PHASE, N_COUNTS = range(8)
"""Places in `counts`: messages by their way, handshakes, connections closed for lack of room, the phase of now."""
TOTAL_NS, CRITICAL_NS, PHASE_MAX_NS, N_TIMES = range(4)
"""Places in `times`: added latency of all, along the slowest process of each phase, of the slowest in this phase."""


class Rules(NamedTuple):
    """Numbers of the layout, the policy and the costs; -1 where there is no limit."""

    n_processes: int
    members: int
    unit_processes: int
    has_xrc: bool
    proxy_messages: int
    idle_phases: int
    max_dynamic: int
    buffer_bytes: int
    message_ns: float
    byte_ns: float
    queue_pair_ns: float


class Tally(NamedTuple):
    """Counts: in all, and for each process the time that it waited and the messages that it passed on for others."""

    counts: Ints
    times: Floats
    waited_ns: Floats
    phase_ns: Floats
    phase_of: Ints
    relayed: Ints


def empty_tally(n_processes: int) -> Tally:
    """Nothing counted yet."""
    return Tally(np.zeros(N_COUNTS, np.int64), np.zeros(N_TIMES), np.zeros(n_processes), np.zeros(n_processes),
                 np.full(n_processes, -1, np.int64), np.zeros(n_processes, np.int64))


@njit(cache=True)
def deliver(store: Store, tally: Tally, rules: Rules, source: Ints, destination: Ints, n_bytes: Ints,
            phases: Ints) -> None:
    """Sends messages, one after the other. The store must have two free slots for each."""
    counts = tally.counts
    for k in range(len(source)):
        if phases[k] != counts[PHASE]:
            _begin_phase(store, tally, rules, phases[k])
        here, there, phase = source[k], destination[k], phases[k]
        if here == there:
            counts[SELF] += 1
            continue
        if reaches(here, there, rules.n_processes, rules.members, rules.unit_processes):
            counts[STATIC] += 1
            continue
        slot = find(store, here, there // rules.unit_processes)
        if slot >= 0 and store.slots[slot, USES] == CONNECTED:
            counts[DYNAMIC] += 1
            touch(store, slot, phase)
            if store.slots[slot, TWIN] >= 0:
                touch(store, store.slots[slot, TWIN], phase)
        elif n_bytes[k] <= rules.buffer_bytes and _is_proxied(store, rules, slot):
            _proxy(store, tally, rules, slot, here, there, n_bytes[k], phase)
        else:
            counts[DYNAMIC] += 1
            _shake_hands(store, tally, rules, here, there, phase)


@njit(cache=True)
def end_phase(tally: Tally) -> None:
    """Adds the slowest process of this phase to the critical path."""
    tally.times[CRITICAL_NS] += tally.times[PHASE_MAX_NS]
    tally.times[PHASE_MAX_NS] = 0.0


@njit(cache=True)
def close_all(store: Store) -> None:
    """Tears everything down."""
    while store.scalars[OLDEST] >= 0:
        close(store, store.scalars[OLDEST])


@njit(cache=True)
def _begin_phase(store: Store, tally: Tally, rules: Rules, phase: int) -> None:
    """Ends the phase before, and tears down what has been idle for too long."""
    end_phase(tally)
    tally.counts[PHASE] = phase
    if rules.idle_phases >= 0:
        while store.scalars[OLDEST] >= 0 and \
                store.slots[store.scalars[OLDEST], LAST_PHASE] + rules.idle_phases + 1 <= phase:
            close(store, store.scalars[OLDEST])


@njit(cache=True)
def _is_proxied(store: Store, rules: Rules, slot: int) -> bool:
    """True if the next message to a unit still goes through a proxy."""
    if rules.proxy_messages <= 0:
        return rules.proxy_messages < 0
    return slot < 0 or store.slots[slot, USES] < rules.proxy_messages


@njit(cache=True)
def _proxy(store: Store, tally: Tally, rules: Rules, slot: int, here: int, there: int, n_bytes: int,
           phase: int) -> None:
    """One more message, stored and forwarded by the process between."""
    tally.counts[PROXIED] += 1
    tally.relayed[relay(here, there, rules.n_processes, rules.members)] += 1
    _wait(tally, here, rules.message_ns + n_bytes * rules.byte_ns, phase)
    if rules.proxy_messages > 0:
        if slot < 0:
            insert(store, here, there // rules.unit_processes, 1, phase)
        else:
            store.slots[slot, USES] += 1
            touch(store, slot, phase)


@njit(cache=True)
def _shake_hands(store: Store, tally: Tally, rules: Rules, here: int, there: int, phase: int) -> None:
    """Request and answer, two static hops each, and a queue pair at either end unless there is one."""
    tally.counts[HANDSHAKES] += 1
    tally.relayed[relay(here, there, rules.n_processes, rules.members)] += 2
    first, _ = _open(store, tally, rules, here, there // rules.unit_processes, phase)
    second, is_new = _open(store, tally, rules, there, here // rules.unit_processes, phase)
    if not rules.has_xrc:
        store.slots[first, TWIN], store.slots[second, TWIN] = second, first
    _wait(tally, here, 4 * rules.message_ns + (1 + is_new) * rules.queue_pair_ns, phase)


@njit(cache=True)
def _open(store: Store, tally: Tally, rules: Rules, owner: int, unit: int, phase: int) -> tuple[int, int]:
    """A queue pair of a process, and whether it is a new one; the one used longest ago makes room for it."""
    slot = find(store, owner, unit)
    if slot >= 0 and store.slots[slot, USES] == CONNECTED:
        touch(store, slot, phase)
        return slot, 0
    if rules.max_dynamic >= 0 and store.processes[owner, PROCESS_LIVE] >= rules.max_dynamic:
        tally.counts[EVICTED] += 1
        close(store, store.processes[owner, OWN_OLDEST])
    if slot >= 0:
        connect(store, slot, phase)
        return slot, 1
    return insert(store, owner, unit, CONNECTED, phase), 1


@njit(cache=True)
def _wait(tally: Tally, process: int, wait_ns: float, phase: int) -> None:
    """A process waits; within a phase for one thing after the other."""
    tally.times[TOTAL_NS] += wait_ns
    tally.waited_ns[process] += wait_ns
    if tally.phase_of[process] != phase:
        tally.phase_of[process], tally.phase_ns[process] = phase, 0.0
    tally.phase_ns[process] += wait_ns
    tally.times[PHASE_MAX_NS] = max(tally.times[PHASE_MAX_NS], tally.phase_ns[process])
