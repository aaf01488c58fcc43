"""The connections that are alive: a compiled table that holds them and nothing else.

A slot is a queue pair (owner and unit) or, with `USES` of 0 or more, a mere count of messages that were proxied so far.
Slots hang in a hash table, in one list by their last use, and queue pairs in a list of their process besides. A slot is
a row of one array, and so is a process: each costs one cache line, and nothing else of a message does.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]

OWNER, UNIT, TWIN, USES, LAST_PHASE, CHAIN, OLDER, NEWER, OWN_OLDER, OWN_NEWER, N_COLUMNS = (*range(10), 16)
"""Columns of a slot. `TWIN` is the other end, if it belongs to no other queue pair."""
OWN_OLDEST, OWN_NEWEST, PROCESS_LIVE, PROCESS_PEAK, N_FIGURES = range(5)
"""Columns of a process: ends of its list, queue pairs alive, and the most of them at once."""
FREE, FRESH, OLDEST, NEWEST, USED, LIVE, PEAK, OPENED, CLOSED, N_SCALARS = range(10)
"""Indexes in `scalars`: first slot returned, first one never used, ends of the list by use, slots in use; queue pairs
alive, the most of them, made, torn down."""
CONNECTED = -1
"""`USES` of a queue pair."""
_NOTHING = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio (Knuth): spreads keys that follow each other


class Store(NamedTuple):
    """Heads of the hash chains, slots (a row each), processes (a row each), and figures of the whole."""

    bucket: Rows
    slots: Rows
    processes: Rows
    scalars: Ints


def empty_store(n_processes: int, n_slots: int) -> Store:
    """A store for so many processes, with `n_slots` (a power of two) free slots."""
    processes = np.zeros((n_processes, N_FIGURES), np.int32)
    processes[:, OWN_OLDEST] = processes[:, OWN_NEWEST] = _NOTHING
    scalars = np.zeros(N_SCALARS, np.int64)
    scalars[FREE] = scalars[OLDEST] = scalars[NEWEST] = _NOTHING
    # Slots are written before they are read, so memory that is never used is never touched.
    return Store(np.full(n_slots, _NOTHING, np.int32), np.empty((n_slots, N_COLUMNS), np.int32), processes, scalars)


def grown(store: Store, n_free: int) -> Store:
    """The store with at least `n_free` free slots; itself if it has them."""
    n_old, used = len(store.slots), int(store.scalars[USED])
    if n_old - used >= n_free:
        return store
    size = n_old
    while size - used < n_free:
        size *= 2
    slots = np.empty((size, N_COLUMNS), np.int32)
    n_touched = int(store.scalars[FRESH])
    slots[:n_touched] = store.slots[:n_touched]
    new = Store(np.full(size, _NOTHING, np.int32), slots, store.processes, store.scalars)
    _rehash(new)
    return new


@njit(cache=True)
def _rehash(store: Store) -> None:
    """Hangs all slots into the buckets."""
    slots = store.slots
    slot = store.scalars[OLDEST]
    while slot != _NOTHING:
        place = _bucket(store, slots[slot, OWNER], slots[slot, UNIT])
        slots[slot, CHAIN], store.bucket[place] = store.bucket[place], slot
        slot = slots[slot, NEWER]


@njit(cache=True)
def _bucket(store: Store, owner: int, unit: int) -> int:
    key = (np.uint64(owner) << np.uint64(32)) | np.uint64(unit)
    return int((key * _MULTIPLIER) >> np.uint64(32)) & (len(store.bucket) - 1)


@njit(cache=True)
def find(store: Store, owner: int, unit: int) -> int:
    """The slot of a process and a unit; -1 if there is none."""
    slots = store.slots
    slot = int(store.bucket[_bucket(store, owner, unit)])
    while slot != _NOTHING and (slots[slot, OWNER] != owner or slots[slot, UNIT] != unit):
        slot = int(slots[slot, CHAIN])
    return slot


@njit(cache=True)
def insert(store: Store, owner: int, unit: int, uses: int, phase: int) -> int:
    """A new slot, used now. There must be a free one and none of this owner and unit."""
    slots = store.slots
    slot = int(store.scalars[FREE])
    if slot == _NOTHING:
        slot = int(store.scalars[FRESH])
        store.scalars[FRESH] += 1
    else:
        store.scalars[FREE] = slots[slot, CHAIN]
    store.scalars[USED] += 1
    slots[slot, OWNER], slots[slot, UNIT], slots[slot, USES], slots[slot, TWIN] = owner, unit, uses, _NOTHING
    place = _bucket(store, owner, unit)
    slots[slot, CHAIN], store.bucket[place] = store.bucket[place], slot
    _append(store, slot, phase)
    if uses == CONNECTED:
        _join_process(store, slot)
    return slot


@njit(cache=True)
def connect(store: Store, slot: int, phase: int) -> None:
    """Makes a count of proxied messages a queue pair."""
    store.slots[slot, USES] = CONNECTED
    _join_process(store, slot)
    _unlink(store, slot)
    _append(store, slot, phase)


@njit(cache=True)
def touch(store: Store, slot: int, phase: int) -> None:
    """The slot is used now."""
    if store.scalars[NEWEST] != slot:
        _unlink(store, slot)
        _append(store, slot, phase)
    store.slots[slot, LAST_PHASE] = phase
    if store.slots[slot, USES] == CONNECTED and store.processes[store.slots[slot, OWNER], OWN_NEWEST] != slot:
        _unlink_own(store, slot)
        _append_own(store, slot)


@njit(cache=True)
def close(store: Store, slot: int) -> None:
    """Takes a slot out; a queue pair is torn down, and with it the other end if it belongs to no other one."""
    twin = store.slots[slot, TWIN]
    _take_out(store, slot)
    if twin != _NOTHING:
        _take_out(store, twin)


@njit(cache=True)
def _take_out(store: Store, slot: int) -> None:
    slots = store.slots
    owner = slots[slot, OWNER]
    if slots[slot, USES] == CONNECTED:
        _unlink_own(store, slot)
        store.processes[owner, PROCESS_LIVE] -= 1
        store.scalars[LIVE] -= 1
        store.scalars[CLOSED] += 1
    _unlink(store, slot)
    place = _bucket(store, owner, slots[slot, UNIT])
    if store.bucket[place] == slot:
        store.bucket[place] = slots[slot, CHAIN]
    else:
        before = store.bucket[place]
        while slots[before, CHAIN] != slot:
            before = slots[before, CHAIN]
        slots[before, CHAIN] = slots[slot, CHAIN]
    slots[slot, CHAIN], store.scalars[FREE] = store.scalars[FREE], slot
    store.scalars[USED] -= 1


@njit(cache=True)
def _join_process(store: Store, slot: int) -> None:
    """One more queue pair of its process."""
    _append_own(store, slot)
    process = store.processes[store.slots[slot, OWNER]]
    process[PROCESS_LIVE] += 1
    process[PROCESS_PEAK] = max(process[PROCESS_PEAK], process[PROCESS_LIVE])
    store.scalars[LIVE] += 1
    store.scalars[OPENED] += 1
    store.scalars[PEAK] = max(store.scalars[PEAK], store.scalars[LIVE])


@njit(cache=True)
def _append(store: Store, slot: int, phase: int) -> None:
    slots, last = store.slots, store.scalars[NEWEST]
    slots[slot, LAST_PHASE], slots[slot, OLDER], slots[slot, NEWER] = phase, last, _NOTHING
    if last == _NOTHING:
        store.scalars[OLDEST] = slot
    else:
        slots[last, NEWER] = slot
    store.scalars[NEWEST] = slot


@njit(cache=True)
def _unlink(store: Store, slot: int) -> None:
    slots = store.slots
    older, newer = slots[slot, OLDER], slots[slot, NEWER]
    if older == _NOTHING:
        store.scalars[OLDEST] = newer
    else:
        slots[older, NEWER] = newer
    if newer == _NOTHING:
        store.scalars[NEWEST] = older
    else:
        slots[newer, OLDER] = older


@njit(cache=True)
def _append_own(store: Store, slot: int) -> None:
    slots, process = store.slots, store.processes[store.slots[slot, OWNER]]
    last = process[OWN_NEWEST]
    slots[slot, OWN_OLDER], slots[slot, OWN_NEWER] = last, _NOTHING
    if last == _NOTHING:
        process[OWN_OLDEST] = slot
    else:
        slots[last, OWN_NEWER] = slot
    process[OWN_NEWEST] = slot


@njit(cache=True)
def _unlink_own(store: Store, slot: int) -> None:
    slots, process = store.slots, store.processes[store.slots[slot, OWNER]]
    older, newer = slots[slot, OWN_OLDER], slots[slot, OWN_NEWER]
    if older == _NOTHING:
        process[OWN_OLDEST] = newer
    else:
        slots[older, OWN_NEWER] = newer
    if newer == _NOTHING:
        process[OWN_NEWEST] = older
    else:
        slots[newer, OWN_OLDER] = older
