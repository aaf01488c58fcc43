"""Writes a fabric as `ibnetdiscover` prints it, or as ibsim's `.net`."""

from collections.abc import Iterator

from firmware_models.routing.network import Network


def ibnetdiscover_text(network: Network) -> str:
    """The fabric as the output of `ibnetdiscover`; LIDs are counted from 1, switches first."""
    return "".join(_ibnetdiscover(network))


def _ibnetdiscover(network: Network) -> Iterator[str]:
    yield f"#\n# Topology file: {network.name}\n#\n"
    guids, n_switches, radixes = network.switch_guids.tolist(), network.n_switches, network.radixes.tolist()
    port_guids = network.port_guids.tolist()
    at_slot, names = _terminal_at_slot(network), _node_names(network)
    for s in range(n_switches):
        guid, lid = guids[s], s + 1
        yield (f'\nvendid=0x0\ndevid=0x0\nsysimgguid={guid:#x}\nswitchguid={guid:#x}({guid:x})\n'
               f'Switch\t{radixes[s]} "S-{guid:016x}"\t\t# "{network.switch_names[s]}" base port 0 lid {lid} lmc 0\n')
        first = int(network.base[s])
        for slot in range(first, int(network.base[s + 1])):
            far = int(network.peer_slot[slot])
            if far >= 0:
                other = int(network.owner[far])
                yield (f'[{slot - first + 1}]\t"S-{guids[other]:016x}"[{far - int(network.base[other]) + 1}]\t\t'
                       f'# "{network.switch_names[other]}" lid {other + 1} 4xQDR\n')
            elif slot in at_slot:
                t = at_slot[slot]
                yield (f'[{slot - first + 1}]\t"H-{int(network.node_guids[t]):016x}"[{network.terminal_port[t]}]'
                       f'({int(network.port_guids[t]):x}) \t\t# "{names[t]}" lid {n_switches + t + 1} 4xQDR\n')
    for terminals in _nodes(network):
        first_port = terminals[0]
        guid = int(network.node_guids[first_port])
        ports = max(int(network.terminal_port[t]) for t in terminals)
        yield (f'\nvendid=0x0\ndevid=0x0\nsysimgguid={guid:#x}\ncaguid={guid:#x}\n'
               f'Ca\t{ports} "H-{guid:016x}"\t\t# "{names[first_port]}"\n')
        for t in terminals:
            s = int(network.leaf[t])
            yield (f'[{network.terminal_port[t]}]({port_guids[t]:x}) \t"S-{guids[s]:016x}"[{network.leaf_port[t]}]'
                   f'\t\t# lid {n_switches + t + 1} lmc 0 "{network.switch_names[s]}" lid {s + 1} 4xQDR\n')


def net_text(network: Network) -> str:
    """The fabric as a `.net` file for ibsim: terminals first, nodes called by their names where these are unique."""
    return "".join(_net(network))


def _net(network: Network) -> Iterator[str]:
    nodes, names = _nodes(network), _node_names(network)
    switch_ids = list(network.switch_names)
    node_ids = {t: names[terminals[0]] for terminals in nodes for t in terminals}
    ids = switch_ids + [node_ids[terminals[0]] for terminals in nodes]
    if len(set(ids)) < len(ids) or any('"' in name for name in ids):
        switch_ids = [f"S-{guid:016x}" for guid in network.switch_guids.tolist()]
        node_ids = {t: f"H-{guid:016x}" for t, guid in enumerate(network.node_guids.tolist())}
    at_slot = _terminal_at_slot(network)
    largest, port_guids = int(max(network.radixes)), network.port_guids.tolist()
    yield f"# {len(nodes)} hosts, {network.n_switches} switches, {largest}-port switches\n"
    for terminals in nodes:
        guid = int(network.node_guids[terminals[0]])
        ports = max(int(network.terminal_port[t]) for t in terminals)
        yield f'\ncaguid={guid:#x}\nCa\t{ports} "{node_ids[terminals[0]]}"\n'
        for t in terminals:
            s = int(network.leaf[t])
            yield (f'[{network.terminal_port[t]}]({port_guids[t]:x})\t"{switch_ids[s]}"[{network.leaf_port[t]}]'
                   f'\t# lid 0 lmc 0 "{switch_ids[s]}" lid 0 4xQDR\n')
    for s in range(network.n_switches):
        yield f'\nswitchguid={int(network.switch_guids[s]):#x}\nSwitch\t{network.radixes[s]} "{switch_ids[s]}"\n'
        first = int(network.base[s])
        for slot in range(first, int(network.base[s + 1])):
            far = int(network.peer_slot[slot])
            if far >= 0:
                other = int(network.owner[far])
                end = f'"{switch_ids[other]}"[{far - int(network.base[other]) + 1}]\t# "{switch_ids[other]}"'
            elif slot in at_slot:
                t = at_slot[slot]
                end = f'"{node_ids[t]}"[{network.terminal_port[t]}]\t# "{node_ids[t]}"'
            else:
                continue
            yield f'[{slot - first + 1}]\t{end} lid 0 4xQDR\n'


def _terminal_at_slot(network: Network) -> dict[int, int]:
    return {slot: t for t, slot in enumerate((network.base[network.leaf] + network.leaf_port - 1).tolist())}


def _nodes(network: Network) -> list[list[int]]:
    """The terminals of every node: a node with two cabled ports is two terminals."""
    nodes: dict[int, list[int]] = {}
    for t, guid in enumerate(network.node_guids.tolist()):
        nodes.setdefault(guid, []).append(t)
    return list(nodes.values())


def _node_names(network: Network) -> list[str]:
    """The name of the node of every terminal: that of a node with several cabled ports has no port number."""
    names = list(network.terminal_names)
    for terminals in _nodes(network):
        if len(terminals) > 1:
            for t in terminals:
                names[t] = names[t].removesuffix(f"/{network.terminal_port[t]}")
    return names
