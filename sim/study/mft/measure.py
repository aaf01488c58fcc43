"""The study of multicast tables: colours, EFI, TFI and time of MR4LMS beside OpenSM's algorithms (figures 6 to 12)."""

from collections.abc import Collection, Iterator
from typing import Any

from firmware_models.routing.algorithm import Options, Router, figures, measure, per_colour, prepare, violations
from firmware_models.routing.kernel.graph import Hops
from firmware_models.routing.network import Network
from firmware_models.routing.pattern import parse_pattern
from firmware_models.routing.topology import parse_topology
from sim.report.progress import ProgressCallback
from sim.study.mft.cases import FULL, OPENSM, QUICK, SWEEP, Case

Row = dict[str, Any]


class MftStudy:
    """Routes every case in every way and judges what came out.

    Parameters
    ----------
    is_quick : bool
        Small networks instead of the paper's.
    is_checked : bool
        Check all invariants of every result.
    progress : ProgressCallback
        Called with the progress.
    networks : collection of str
        Short names of the networks to take; all if empty.
    """

    def __init__(
        self, *, is_quick: bool, is_checked: bool, progress: ProgressCallback, networks: Collection[str] = (),
    ):
        self.is_quick = is_quick
        self.is_checked = is_checked
        self.progress = progress
        self.networks = networks
        self.cases = [case for case in (QUICK if is_quick else FULL) if self._is_wanted(case.network)]
        self._network: Network | None = None
        self._hops: Hops | None = None

    def rows(self) -> Iterator[Row]:
        """A row a case and way of routing: `kind` is "case", "sweep", "opensm", or "colours" (figure 11)."""
        ways = [
            ("mr4lms", Options()), ("best", Options(policy="best")), ("minihop", Options(algorithm="minihop")),
            ("sssp", Options(algorithm="sssp")),
        ]
        for number, case in enumerate(self.cases):
            self.progress("cases", number, len(self.cases))
            size = case.mft_size
            sized = [("mr4lms", Options(mft_size=size)), ("best", Options(policy="best", mft_size=size))]
            for way, options in (*ways, *sized):
                yield self._run("case", case.topology, case.pattern, case.processes, way, options) | {
                    "network": case.network, "label": case.label, "is_hard": case.is_hard, "paper": case.paper}
            if "max_tfi" in case.paper or (self.is_quick and case.processes > 1):
                yield self._colours(case)
        self.progress("cases", len(self.cases), len(self.cases))
        yield from self._sweep()
        if not self.is_quick and self._is_wanted("fat tree"):
            yield from self._opensm()

    def _is_wanted(self, network: str) -> bool:
        return not self.networks or network in self.networks

    def _sweep(self) -> Iterator[Row]:
        for network, topology, pattern in SWEEP[self.is_quick]:
            if not self._is_wanted(network):
                continue
            whole = self._run("sweep", topology, pattern, 1, "mr4lms", Options())
            yield whole | {"network": network}
            needed = whole["colours"]
            sizes = sorted({max(1, needed * part // 8) for part in (1, 2, 3, 4, 6, 7)})
            for number, size in enumerate(sizes):
                self.progress(f"table sizes, {network}", number + 1, len(sizes))
                for way in ("mr4lms", "best"):
                    options = Options(mft_size=size, policy="paper" if way == "mr4lms" else "best")
                    yield self._run("sweep", topology, pattern, 1, way, options) | {"network": network}

    def _opensm(self) -> Iterator[Row]:
        """The fat tree that OpenSM was measured on, with its grids."""
        for pattern, known in OPENSM.items():
            for way in ("minihop", "mr4lms", "best"):
                options = Options(algorithm="minihop") if way == "minihop" else \
                    Options(policy="paper" if way == "mr4lms" else "best")
                yield self._run("opensm", "fat-tree:40", pattern, 1, way, options, order="last") | {"opensm": known}

    def _colours(self, case: Case) -> Row:
        router = self._routed(case, Options(mft_size=case.mft_size))
        return {"kind": "colours", "network": case.network, "pattern": case.pattern, "mft_size": case.mft_size,
                "colours": per_colour(router)}

    def _routed(self, case: Case, options: Options) -> Router:
        network = self._get(case.topology)
        router = Router(network, options, hops=self._hops)
        groups = parse_pattern(case.pattern, n_terminals=network.n_terminals, processes_per_terminal=case.processes)
        measure(router, groups)
        return router

    def _run(
        self, kind: str, topology: str, pattern: str, processes: int, way: str, options: Options, order: str = "first",
    ) -> Row:
        """Routes one pattern in one way."""
        network = self._get(topology)
        router = Router(network, options, hops=self._hops)
        groups = parse_pattern(pattern, n_terminals=network.n_terminals, processes_per_terminal=processes, order=order)
        measured = measure(router, groups)
        found = violations(router.forest, router.groups) if self.is_checked else []
        return {
            "kind": kind, "topology": topology, "pattern": pattern, "processes": processes, "way": way,
            "mft_size": options.mft_size, **figures(router), "seconds": round(measured.seconds, 4),
            "cpu_seconds": round(measured.cpu_seconds, 4), "megabytes": round(router.forest.bytes / 1e6, 1),
            "violations": len(found) if self.is_checked else None,
        }

    def _get(self, topology: str) -> Network:
        """The network; compiled loops and its hop table stand ready, and are kept for the next call."""
        if self._network is None or self._network.name != topology:
            network = parse_topology(topology)
            self._hops = prepare(network, Options(algorithm="minihop")).router.forest.hops
            self._network = network
        return self._network

