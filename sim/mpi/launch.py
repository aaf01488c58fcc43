"""Runs a program under MPI beside the simulator, from its first process to its last."""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sim.cluster import RegisterAccessError, SimulationFaultError
from sim.mpi.agreement import DesertionError, DisagreementError, rank_words
from sim.mpi.error import FabricError
from sim.mpi.interposer import tool
from sim.mpi.links import Door, Link, segment_bytes
from sim.mpi.mpich import PLAIN, library_path
from sim.mpi.sections import Section
from sim.mpi.service import ABORT, DESERTED, Service
from sim.mpi.standing import SECONDS_PER_STANDING, StandingCallback

_LOOK_SECONDS = 0.25
_GRACE_SECONDS = 1.5
_LAUNCHER_SECONDS = 30
_INSIST_SECONDS = 3.0
_STANDARD_ERROR = 2
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_FINALIZED = "finalized"
"""Stands as a thread's call where MPI is over beside an open session: ``MPI_Finalize`` of the interposer."""


@dataclass(frozen=True)
class Outcome:
    """How a program ended: exit code of the launcher, and what was wrong with its collectives, if anything."""

    code: int
    error: str | None


_PASSED_ON = {
    signal.SIGINT: signal.SIGINT, signal.SIGTERM: signal.SIGTERM, signal.SIGHUP: signal.SIGTERM,
    signal.SIGQUIT: signal.SIGTERM,
}
"""As what signals go to the launcher."""


class Interruption:
    """Signals that end a program: passed on to the launcher, which ends the ranks; the report is written as ever.

    A terminal that is closed (SIGHUP) and SIGQUIT are SIGTERM to the launcher, which does not take them. Those that
    were ignored before (by ``nohup``) stay so.

    Before the program is served they end this process, which leaves through the clauses that end the program.

    Members
    -------
    serves : bool
        The program is served.
    since : float, optional
        When the launcher got the signal.
    code : int, optional
        Exit code of a shell for a signal that the launcher does not take.
    """

    def __init__(self, process: subprocess.Popen[bytes]):
        self.serves = False
        self.since: float | None = None
        self.code: int | None = None
        self._number = signal.SIGINT.value
        self._process = process
        self._before = {number: signal.signal(number, self._take) for number in _PASSED_ON
                        if signal.getsignal(number) != signal.SIG_IGN}

    def _take(self, number: int, _frame: object) -> None:
        if not self.serves:
            sys.exit(128 + number)
        if self.since is None:
            self.since, self._number = time.monotonic(), _PASSED_ON[signal.Signals(number)]
            self.code = None if self._number == number else 128 + number
        self._process.send_signal(_PASSED_ON[signal.Signals(number)])

    def insist(self, now: float) -> None:
        """Sends the signal again if the program has not ended some seconds later: then the launcher aborts it."""
        if self.since is not None and now - self.since > _INSIST_SECONDS:
            self.since = now
            self._process.send_signal(self._number)

    def close(self) -> None:
        """From now on signals do what they did before."""
        for number, before in self._before.items():
            signal.signal(number, before)


class Launch:
    """The processes of a program, from its first to its last, as a context: what is left of them at its end is ended.

    They start beside whatever their simulator still has to do before :meth:`serve`.

    Parameters
    ----------
    sections : sequence of Section
        The programs, and how many processes each has.
    interposer : Path
        What is loaded before the program.
    environment : mapping
        Further variables for it.
    quiet : bool
        What it prints goes to standard error.
    cleanup : bool
        The launcher ends all ranks when one aborts or dies.
    folder : Path, optional
        Where they run.
    """

    def __init__(
        self, *, sections: Sequence[Section], interposer: Path, environment: Mapping[str, str],
        quiet: bool = False, cleanup: bool = True, folder: Path | None = None,
    ):
        self._cleanup = cleanup
        self._door = Door()
        self._links: list[Link] = []
        # Programs that were linked with another MPI of the same ABI find this one first; the user's own come behind.
        preloads = [str(interposer), str(tool("mpiexec").parents[1] / "lib" / "libmpi.so.12")]
        preloads += filter(None, [os.environ.get("LD_PRELOAD")])
        variables = {"CONIC_MPI_SOCKET": self._door.name,
                     "CONIC_MPI_SEGMENT": str(segment_bytes(sum(section.ranks for section in sections))), **environment}
        given = _words("-genv", _preloading(variables, preloads))
        programs = []
        for section in sections:
            own = _preloading(section.variables, preloads) if "LD_PRELOAD" in section.variables else section.variables
            programs.append(["-n", str(section.ranks), *_words("-env", own), *section.command])
        words = [word for program in programs for word in (":", *program)][1:]
        options = [] if cleanup else ["-disable-auto-cleanup"]
        self._process = subprocess.Popen(
            [str(tool("mpiexec")), *options, *given, *words], env={**os.environ, **PLAIN, **library_path()},
            stdout=_STANDARD_ERROR if quiet else None, cwd=folder, start_new_session=True, preexec_fn=_die_with_parent,
        )
        self._interruption = Interruption(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._interruption.close()
        self._door.close()
        _end(self._process, self._links)

    def serve(self, service: Service, *, tell: StandingCallback | None = None) -> Outcome:
        """Serves the program until it ends, or until its collectives cannot go on; then nothing is left of it.

        `tell` hears how far it is, every few seconds.
        """
        self._interruption.serves = True
        error, alone = _serve(service, self._door, self._process, self._links, self._interruption, tell)
        if alone:  # the launcher ends the other ranks, and its code is that of the rank that went first
            with contextlib.suppress(subprocess.TimeoutExpired):
                # On a busy machine it takes seconds to see that a rank has ended. Without cleanup it never acts on it.
                self._process.wait(_LAUNCHER_SECONDS if self._cleanup else _GRACE_SECONDS)
        code = self._process.poll()
        for link in self._links:
            service.count(link)
        _end(self._process, self._links)
        code = code if self._interruption.code is None else self._interruption.code
        return Outcome(1 if code is None else code if code >= 0 else 128 - code, error)


def _preloading(variables: Mapping[str, str], first: Sequence[str]) -> dict[str, str]:
    """The variables with `first` in front of what they have loaded themselves."""
    return {**variables, "LD_PRELOAD": ":".join([*first, *filter(None, [variables.get("LD_PRELOAD")])])}


def _words(flag: str, variables: Mapping[str, str]) -> list[str]:
    return [word for name, value in variables.items() for word in (flag, name, value)]


def _die_with_parent() -> None:
    """In the launcher before it begins: if the simulator is killed, it ends, and with it the ranks."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _serve(
    service: Service, door: Door, process: subprocess.Popen[bytes], links: list[Link], interruption: Interruption,
    tell: StandingCallback | None,
) -> tuple[str | None, bool]:
    """Until the program ends; what was wrong, and whether it ends without being ended."""
    ended = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(door.socket, selectors.EVENT_READ, door)
        selector.register(ended, selectors.EVENT_READ, None)
        busy, looked, over = False, time.monotonic(), False
        stated = looked
        try:
            while True:
                for key, _ in selector.select(0 if busy or over else _LOOK_SECONDS):
                    if interruption.since is not None:
                        service.stop_waiting()
                    if key.data is None:
                        over = True
                    elif isinstance(key.data, Door):
                        if (link := door.accept()) is not None:
                            links.append(link)
                            selector.register(link.socket, selectors.EVENT_READ, link)
                    elif not _hear_all(service, key.data, links):
                        selector.unregister(key.data.socket)
                        links.remove(key.data)
                        service.count(key.data)
                        key.data.close()
                busy = service.advance()
                now = time.monotonic()
                if now - looked > _LOOK_SECONDS:
                    looked = now
                    interruption.insist(now)
                    for line in service.check_patience(links):
                        print(f"conic mpiexec: {line}", file=sys.stderr, flush=True)
                if tell is not None and now - stated > SECONDS_PER_STANDING:
                    stated = now
                    tell(service.standing(links))
                if over and not links:
                    return _desertion(service.deserters()), True
        except DesertionError as error:
            return str(error), True
        except (DisagreementError, FabricError) as error:
            return str(error), False
        except (SimulationFaultError, RegisterAccessError) as error:
            return f"the simulated hardware: {error}", False
        finally:
            os.close(ended)


def _desertion(ranks: Sequence[int]) -> str | None:
    """Message if ranks have ended while no other one waited for them: the launcher may have been faster."""
    if not ranks:
        return None
    return f"MPI_COMM_WORLD: ended without MPI_Finalize, as seen one after the other: {rank_words(ranks)}"


def _hear_all(service: Service, link: Link, links: Sequence[Link]) -> bool:
    """Takes all messages of a rank; False if it is gone."""
    while True:
        try:
            heard = link.hear()
        except BlockingIOError:
            return True
        if heard is None:
            # MPI_Abort ends all ranks, in any order: it is nobody's fault that this one is gone. Nor is it when one
            # leaves a session open, for the launcher ends the others then.
            if any({ABORT, _FINALIZED} & set(each.inside) for each in links):
                service.stop_waiting()
            elif link.joined and not service.has_finalized(link.rank):
                service.lose(link.rank, DESERTED)
            return False
        service.hear(link, *heard)


def _end(process: subprocess.Popen[bytes], links: list[Link]) -> None:
    """Ends what is left of the program: launcher first, which ends the ranks, then those by themselves."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    for pid in {link.pid for link in links}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    process.wait()
    while links:
        links.pop().close()
