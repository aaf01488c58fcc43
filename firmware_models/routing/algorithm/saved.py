"""State on disk: a subnet manager that restarts goes on where it was."""

import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

from firmware_models.files import written
from firmware_models.routing.algorithm.merge import OldTrees, Partner
from firmware_models.routing.algorithm.mr4lms import Mr4lms
from firmware_models.routing.algorithm.router import Options, Router
from firmware_models.routing.kernel.graph import Hops
from firmware_models.routing.network import Network, RoutingError

VERSION = 1


def save_router(router: Router, path: Path) -> None:
    """Writes groups, trees and the driver's own state as one `.npz` file."""
    options, engine, trees = router.options, router.engine, list(router.forest.trees.values())
    head = {
        "version": VERSION, "fingerprint": router.network.fingerprint, "algorithm": options.algorithm,
        "policy": options.policy, "mft_size": options.mft_size, "partner": options.partner.value,
        "old": options.old.value,
        "groups": list(router.groups), "trees": [[tree.colour, tree.groups, tree.is_lowest] for tree in trees],
        "next_colour": router.next_colour,
        "driver": [engine.is_building_first, engine.successes] if isinstance(engine, Mr4lms) else None,
    }
    with written(path, "wb") as file:
        np.savez_compressed(
            file, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
            members=_flat([group.members for group in router.groups.values()]),
            member_counts=np.array([len(group.members) for group in router.groups.values()], dtype=np.int64),
            switches=_flat([tree.switches for tree in trees]), up=_flat([tree.up for tree in trees]),
            tree_sizes=np.array([len(tree.switches) for tree in trees], dtype=np.int64),
        )


def load_router(network: Network, path: Path, *, hops: Hops | None = None) -> Router:
    """The router that `save_router` wrote.

    Raises
    ------
    RoutingError
        If the file is none of these, or of another network.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(file["head"].tobytes())
            arrays = {name: file[name] for name in ("members", "member_counts", "switches", "up", "tree_sizes")}
        if head["version"] != VERSION:
            raise RoutingError(f"state {str(path)!r} must be of version {VERSION}, not {head['version']}")
        if head["fingerprint"] != network.fingerprint:
            raise RoutingError(f"state {str(path)!r} must be of network {network.name!r}: it was saved on another")
        options = Options(algorithm=head["algorithm"], policy=head["policy"], mft_size=head["mft_size"],
                          partner=Partner(head["partner"]), old=OldTrees(head["old"]))
        router = Router(network, options, hops=hops)
        members = np.split(arrays["members"], np.cumsum(arrays["member_counts"])[:-1])
        parts = [np.split(arrays[name], np.cumsum(arrays["tree_sizes"])[:-1]) for name in ("switches", "up")]
        router.restore(dict(zip(head["groups"], members, strict=False)), [
            (colour, names, is_lowest, switches, up) for (colour, names, is_lowest), switches, up in
            zip(head["trees"], *parts, strict=False)], head["next_colour"])
        if isinstance(router.engine, Mr4lms):
            router.engine.is_building_first, router.engine.successes = head["driver"]
    except RoutingError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, EOFError, AttributeError, OverflowError, MemoryError,
            RecursionError, zipfile.BadZipFile, zlib.error) as error:
        raise RoutingError(f"state {str(path)!r} must be a file that --save-state wrote: {error}") from None
    return router


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)
