"""The flags that describe a collective, shared by the commands that carry one out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

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

Command = TypeVar("Command", bound=Callable[..., Any])

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


def collective_options(command: Command) -> Command:
    """Gives `command` the flags that describe a collective."""
    for option in reversed(_options):
        command = option(command)
    return command


def collective_request(
    *, collective: str, algorithm: str | None, nodes: int | None, size: int | None, root: int, jobs: int, dtype: str,
    op: str, preset: str | None, config: Path | None, topology: str | None, input_file: Path | None, seed: int,
    host: str | None, host_based: bool,
) -> CollectiveRequest:
    """Returns the request that the flags ask for; refuses errors that only flags can have, and leaves the rest to the
    request."""
    if algorithm != AUTO:
        required_algorithm(collective, algorithm)
    inputs = None if input_file is None else _load_rows(input_file)
    if inputs is not None:
        rows, row_bytes = inputs.shape[0], inputs.shape[1] * inputs.itemsize
        for flag, given, held in (("--nodes", nodes, rows), ("--size", size, row_bytes)):
            if given not in (None, held):
                raise click.UsageError(f"{flag}: must be {held} as in --input, or left out, not {given}")
        held_dtype = "double_int" if inputs.dtype.names else inputs.dtype.name
        if is_given("dtype") and dtype != held_dtype:
            raise click.UsageError(f"--dtype: must be {held_dtype} as in --input, or left out, not {shown(dtype)}")
        nodes, size, dtype = rows, row_bytes, held_dtype
    if nodes is None:
        raise click.UsageError("--nodes: is required, or --input")
    if size is None:
        if collective != "barrier":
            raise click.UsageError("--size: is required, or --input")
        size = 0
    name_of_algorithm = algorithm_for(collective, algorithm, nodes=nodes, size=size, host_based=host_based)
    name, tree = hardware(preset, config)
    host_name, its_host = host_of(host, host_based=host_based)
    if collective == "barrier":
        refuse_idle(("dtype",), "for barrier, which moves no data")
    if is_given("op") and not reduces(collective, name_of_algorithm):
        raise click.UsageError(f"--op: must be left out for {collective}, which reduces nothing, not {shown(op)}")
    return CollectiveRequest(
        collective=collective, algorithm=name_of_algorithm, nodes=nodes, size=size, root=root, jobs=jobs, dtype=dtype,
        op=op, config=tree, preset=name,
        topology=f"star:{nodes}" if topology is None else topology, inputs=inputs, seed=seed,
        host=its_host, host_name=host_name, host_based=host_based,
    )


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
