"""Writes forwarding tables as OpenSM's `opensm.mcfdbs`."""

from firmware_models.routing.network import FIRST_MLID, ForwardingTables, Network


def mcfdbs_text(network: Network, tables: ForwardingTables) -> str:
    """The tables as OpenSM 3.3.23 dumps them, byte for byte: switches in the order of their byte-swapped GUIDs, those
    without entries left out."""
    starts = tables.switch.searchsorted(range(network.n_switches + 1)).tolist()
    text, words = _port_texts(tables.ports.shape[1]), tables.ports.tolist()
    colours = tables.colour.tolist()
    parts = []
    for s in network.opensm_order.tolist():
        if starts[s] == starts[s + 1]:
            continue
        parts.append(f"\nSwitch 0x{int(network.switch_guids[s]):016x}\nLID    : Out Port(s)\n")
        for entry in range(starts[s], starts[s + 1]):
            parts.append(f"0x{FIRST_MLID + colours[entry]:04X} :")
            for word, mask in enumerate(words[entry]):
                while mask:
                    low = mask & -mask
                    parts.append(text[64 * word + low.bit_length() - 1])
                    mask ^= low
            parts.append("\n")
    return "".join(parts)


def _port_texts(n_words: int) -> list[str]:
    return [f" 0x{port:03X} " for port in range(64 * n_words)]
