"""`--run-file`: a YAML file that holds what the flags of a command say."""

from pathlib import Path
from typing import Any

import click

from firmware_models.files import FileError, parse_yaml, read_text, shown

_MOST_BYTES = 1 << 20


def _load(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    if value is None:
        return
    try:
        content = parse_yaml(read_text(value, most_bytes=_MOST_BYTES))
    except FileError as error:
        raise click.UsageError(f"--run-file: {shown(value)} {error}", ctx) from None
    if not isinstance(content, dict):
        raise click.UsageError(f"--run-file: {shown(value)} must be a mapping of flags, not {shown(content)}", ctx)
    names = flag_names(ctx.command)
    names.pop("run-file", None)
    defaults: dict[str, Any] = {}
    for key, entry in content.items():
        if key not in names:
            allowed = ", ".join(sorted(names))
            raise click.UsageError(f"--run-file: {shown(value)} has no flag {shown(key)}; allowed: {allowed}", ctx)
        if names[key].multiple if isinstance(names[key], click.Option) else names[key].nargs == -1:
            # A repeatable flag takes a list, or the single value of a list of one.
            entries = entry if isinstance(entry, list) else [entry]
            if not entries or not all(_is_value(one) for one in entries):
                raise click.UsageError(
                    f"--run-file: {shown(value)}: {key} must be a value or a list of values, not {shown(entry)}", ctx
                )
            defaults[str(names[key].name)] = entries
            continue
        if not _is_value(entry) and not isinstance(entry, bool):
            raise click.UsageError(f"--run-file: {shown(value)}: {key} must be one value, not {shown(entry)}", ctx)
        if isinstance(entry, bool) != getattr(names[key], "is_flag", False):
            kind = "true or false" if getattr(names[key], "is_flag", False) else "a value"
            raise click.UsageError(f"--run-file: {shown(value)}: {key} must be {kind}, not {shown(entry)}", ctx)
        defaults[str(names[key].name)] = entry
    ctx.default_map = defaults


def _is_value(entry: Any) -> bool:
    return isinstance(entry, str | int | float) and not isinstance(entry, bool)


def flag_names(command: click.Command) -> dict[str, click.Parameter]:
    """Keys that the file may hold: the flags of `command` without their dashes, and its arguments."""
    return {param.opts[0].lstrip("-"): param for param in command.params}


run_file_option = click.option(
    "--run-file", type=click.Path(path_type=Path), is_eager=True, expose_value=False, callback=_load,
    help="YAML file that says what these flags say, by their names; flags given here win.",
)
"""The option; a command that has it takes every other value from the file unless its flag is given."""
