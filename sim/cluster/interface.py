"""The C interface of the library of a cluster, as ``library.cpp`` has it."""

import ctypes
from ctypes import CDLL, c_char_p, c_double, c_int, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any


def load_library(library: Path) -> CDLL:
    """A library, with the types of its functions."""
    api = CDLL(str(library))
    handle, u32, u64 = c_void_p, c_uint32, c_uint64
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "conic_create": (
            handle,
            [u32, u32, u64, u64, u64, u64, c_double, c_double, u64, u64, c_double, c_double, u64, c_int, u32, c_int,
             c_int, handle],
        ),
        "conic_lanes": (u32, []),
        "conic_create_pack": (handle, [u32, u32]),
        "conic_destroy_pack": (c_int, [handle]),
        "conic_destroy": (None, [handle]),
        "conic_connect": (c_int, [handle, u32, u32, u32, u32, u64]),
        "conic_fault": (c_char_p, []),
        "conic_reset": (c_int, [handle]),
        "conic_run": (c_int, [handle, u64]),
        "conic_step": (c_int, [handle, u64]),
        "conic_check_boundary": (c_int, [handle]),
        "conic_now": (u64, [handle]),
        "conic_memory": (ctypes.POINTER(ctypes.c_uint8), [handle, u32]),
        "conic_watch": (c_int, [handle, u32, u64]),
        "conic_was_written": (c_int, [handle, u32, u64]),
        "conic_observe": (c_int, [handle, u32, u64, u64]),
        "conic_land": (u64, [handle]),
        "conic_landed": (c_void_p, [handle]),
        "conic_settled_at": (u64, [handle]),
        "conic_damaged": (u64, [handle, u32]),
        "conic_set_wires": (c_int, [handle, c_double, c_double, c_double, c_double, u64]),
        "conic_cut": (c_int, [handle, c_int, u32, u32, u64, u64]),
        "conic_mend": (c_int, [handle, c_int, u32, u32]),
        "conic_stop": (c_int, [handle, u32, u64]),
        "conic_output": (u64, [handle, c_int, u32, c_char_p]),
        "conic_fail_memory": (c_int, [handle, u32, c_int, u64, u64, u32]),
        "conic_fail_share": (c_int, [handle, u32, c_int, c_double, u32]),
        "conic_slow_memory": (c_int, [handle, u32, u64, u64, u64]),
        "conic_memory_count": (u64, [handle, u32, u32]),
        "conic_allow": (c_int, [handle, u32, c_int, u64, u64]),
        "conic_add_player": (c_int, [handle, u32]),
        "conic_play": (c_int, [handle, u32, c_char_p, c_void_p, c_void_p, u32, u32]),
        "conic_fingerprint": (u64, [handle]),
        "conic_evaluated": (u64, [handle]),
        "conic_bytes_a_node": (u64, [handle]),
        "conic_write": (c_int, [handle, c_int, u32, u32, u32, u64]),
        "conic_write_bytes": (c_int, [handle, c_int, u32, u32, u32, u32]),
        "conic_read": (c_int, [handle, c_int, u32, u32]),
        "conic_await_registers": (c_int, [handle, c_int, u32, u64]),
        "conic_value": (u32, [handle, c_int, u32]),
        "conic_register_errors": (u32, [handle, c_int, u32]),
        "conic_log_events": (c_int, [handle, c_int]),
        "conic_event_count": (u64, [handle]),
        "conic_events": (c_void_p, [handle]),
        "conic_register_names": (c_char_p, [handle, c_int, u32]),
        "conic_get_register": (u64, [handle, c_int, u32, c_char_p, c_void_p, c_void_p]),
        "conic_set_register": (c_int, [handle, c_int, u32, c_char_p, c_void_p]),
        "conic_select": (c_int, [handle, c_int, u32, c_char_p, c_void_p, u32]),
        "conic_selected_hash": (u64, [handle, c_int, u32]),
        "conic_open_waves": (c_int, [handle, c_char_p, u64, u64]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(api, name)
        function.restype, function.argtypes = result, arguments
    return api
