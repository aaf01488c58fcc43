"""The flags that describe a collective, shared by the commands that carry one out."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.encoding import Datatype
from firmware_models.files import shown
from firmware_models.golden import dtype_of
from sim.cli.shared.byte_size import ByteSize
from sim.cli.shared.collective_name import CollectiveName, algorithm_for, required_algorithm
from sim.cli.shared.hardware import hardware, hardware_options
from sim.cli.shared.host import host_of, host_options
from sim.cli.shared.idle import is_given, refuse_idle
from sim.cli.shared.number import Number
from sim.cli.shared.run_file import run_file_option
from sim.collective import CollectiveRequest
from sim.operation.request import DATATYPES, OPERATORS, reduces
from sim.selection import AUTO

Command = Callable[..., int]

_options = (
    click.argument("collective", type=CollectiveName()),
    click.option("--algorithm", help="How: auto, binomial, recursive-doubling, dissemination, ...  [required]"),
    click.option("--nodes", type=Number(), help="Nodes of the cluster.  [required unless --input]"),
    click.option("--size", type=ByteSize(),
                 help="Bytes of the message: 4096, 4KiB.  [required unless --input; a barrier has none]"),
    click.option("--root", type=Number(), default=0, show_default=True, help="Root of a broadcast or reduce."),
    click.option("--jobs", type=Number(), default=1, show_default=True, help="Collectives that run at once."),
    click.option("--dtype", default="float64", show_default=True,
                 help=f"Element type: {', '.join(DATATYPES)}."),
    click.option("--op", default="sum", show_default=True,
                 help=f"Reduction operator: {', '.join(OPERATORS)}."),
    hardware_options,
    host_options,
    click.option("--topology", help="How the nodes are wired.  [default: star:N]"),
    click.option("--input", "input_file", type=click.Path(path_type=Path),
                 help="x.npy, one row per node: the data; size and datatype come from it."),
    click.option("--seed", type=Number(0), default=0, show_default=True,
                 help="Seed of the data and of every random choice."),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output."),
    run_file_option,
)


@dataclass(frozen=True, kw_only=True)
class CollectiveFlags:
    """Values of the flags that describe a collective; a flag that was not given has None or its default."""

    collective: str
    algorithm: str | None
    nodes: int | None
    size: int | None
    root: int
    jobs: int
    dtype: str
    op: str
    preset: str | None
    config: Path | None
    host: str | None
    host_based: bool
    topology: str | None
    input_file: Path | None
    seed: int

    def request(self) -> CollectiveRequest:
        """Returns the request that the flags ask for; refuses errors that only flags can have, and leaves the rest to
        the request."""
        if self.algorithm != AUTO:
            required_algorithm(self.collective, self.algorithm)
        inputs = None if self.input_file is None else _load_rows(self.input_file)
        nodes, size, dtype = (self.nodes, self.size, self.dtype) if inputs is None else self._of(inputs)
        if nodes is None:
            raise click.UsageError("--nodes: is required, or --input")
        if size is None:
            if self.collective != "barrier":
                raise click.UsageError("--size: is required, or --input")
            size = 0
        algorithm = algorithm_for(
            self.collective, self.algorithm, nodes=nodes, size=size, host_based=self.host_based,
        )
        name, tree = hardware(self.preset, self.config)
        host_name, its_host = host_of(self.host, host_based=self.host_based)
        if self.collective == "barrier":
            refuse_idle(("dtype",), "for barrier, which moves no data")
        if is_given("op") and not reduces(self.collective, algorithm):
            raise click.UsageError(
                f"--op: must be left out for {self.collective}, which reduces nothing, not {shown(self.op)}"
            )
        return CollectiveRequest(
            collective=self.collective, algorithm=algorithm, nodes=nodes, size=size, root=self.root, jobs=self.jobs,
            dtype=dtype, op=self.op, config=tree, preset=name,
            topology=f"star:{nodes}" if self.topology is None else self.topology, inputs=inputs, seed=self.seed,
            host=its_host, host_name=host_name, host_based=self.host_based,
        )

    def _of(self, inputs: NDArray[Any]) -> tuple[int, int, str]:
        """Nodes, size and datatype of `inputs`; refuses flags that say something else."""
        rows, row_bytes = inputs.shape[0], inputs.shape[1] * inputs.itemsize
        for flag, given, held in (("--nodes", self.nodes, rows), ("--size", self.size, row_bytes)):
            if given not in (None, held):
                raise click.UsageError(f"{flag}: must be {held} as in --input, or left out, not {given}")
        dtype = "double_int" if inputs.dtype.names else inputs.dtype.name
        if is_given("dtype") and self.dtype != dtype:
            raise click.UsageError(f"--dtype: must be {dtype} as in --input, or left out, not {shown(self.dtype)}")
        return rows, row_bytes, dtype


def collective_options(command: Command) -> Command:
    """Gives `command` the flags that describe a collective: it is called with `flags`, :class:`CollectiveFlags`."""
    names = [each.name for each in fields(CollectiveFlags)]

    @functools.wraps(command)
    def gathering(**given: Any) -> int:
        flags = CollectiveFlags(**{name: given.pop(name) for name in names})
        return command(flags=flags, **given)

    decorated: Command = gathering
    for option in reversed(_options):
        decorated = option(decorated)
    return decorated


def _load_rows(path: Path) -> NDArray[Any]:
    if path.exists() and not path.is_file():
        raise click.UsageError(f"--input: {str(path)!r} must be a file")
    try:
        with path.open("rb") as file:
            is_array = file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX
        # Mapped, so that a header that promises more than the file holds is refused, not allocated.
        rows = np.load(path, mmap_mode="r", allow_pickle=False) if is_array else None
    except OSError as error:
        raise click.UsageError(f"--input: {str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, EOFError, TypeError, OverflowError, SyntaxError):
        rows = None
    if rows is None:
        raise click.UsageError(f"--input: {str(path)!r} must be an array saved by numpy.save") from None
    if rows.ndim != 2:
        raise click.UsageError(f"--input: {str(path)!r} must have the shape (nodes, elements), "
                               f"not {rows.shape}")
    if rows.dtype.names is not None:
        rows = _with_padding(path, rows)
    return np.array(rows, order="C", subok=False)


def _with_padding(path: Path, rows: NDArray[Any]) -> NDArray[Any]:
    """Doubles with indices, whatever the layout that they were saved in, as the hardware has them."""
    kind = dtype_of(Datatype.DOUBLE_INT)
    wanted: dict[str, np.dtype[Any]] = {"value": np.dtype(np.float64), "index": np.dtype(np.int32)}
    given = {name: rows.dtype[name].newbyteorder("=") for name in rows.dtype.names or () if name != "padding"}
    if given != wanted:
        fields = ", ".join(f"{name} {kind.name}" for name, kind in wanted.items())
        raise click.UsageError(f"--input: {str(path)!r} must have the fields {fields}, not {rows.dtype}")
    elements = np.zeros(rows.shape, kind)
    for name in wanted:
        elements[name] = rows[name]
    return elements
