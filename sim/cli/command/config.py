"""`conic config`: the hardware's whole configuration, what each field means, may be, is, and why; how two differ."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from firmware_models.config import (
    FIELDS,
    SECTIONS,
    Config,
    ConfigError,
    Loaded,
    derived,
    preset_names,
    trace_config,
    trace_preset,
)
from firmware_models.files import shown
from sim.cli.shared.console import answer
from sim.cli.shared.example import example
from sim.cli.shared.hardware import hardware_options
from sim.cli.shared.refusal import refuses
from sim.cli.shared.run_file import run_file_option


@click.command("config", epilog=example("conic config --diff small paper"))
@hardware_options
@click.option("--diff", nargs=2, metavar="A B", help="How two differ instead, each a preset or a YAML file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@run_file_option
@refuses(ConfigError)
def command(*, preset: str | None, config: Path | None, diff: tuple[str, str] | None, as_json: bool) -> int:
    """Shows every field of a configuration: its value, what is allowed, what it means, and where the value is from.

    A file changes a base: `base: small` (the default), another preset, or another file that ends in .yaml.
    """
    if diff is not None:
        if preset is not None or config is not None:
            raise click.UsageError("--diff: give it alone, without --preset and --config")
        _compare(*diff, as_json=as_json)
        return 0
    if preset is not None and config is not None:
        raise click.UsageError("--config: give --preset or --config, not both")
    loaded = trace_preset(preset or "small") if config is None else trace_config(config)
    _show(str(config) if config is not None else preset or "small", loaded, as_json=as_json)
    return 0


def _show(name: str, loaded: Loaded, *, as_json: bool) -> None:
    rows = [
        {"field": path, "value": _value(loaded.config, path), "allowed": known.allowed, "meaning": known.meaning,
         "from": loaded.sources[path]}
        for path, known in FIELDS.items()
    ]
    follows = [
        {"name": key, "value": value, "meaning": meaning} for key, (value, meaning) in derived(loaded.config).items()
    ]
    if as_json:
        answer({"configuration": name, "fields": rows, "derived": follows}, as_json=True)
        return
    table = Table("field", "value", "allowed", "meaning", "from", title=f"configuration {name}")
    for section in SECTIONS:
        for row in rows:
            if row["field"].startswith(f"{section}."):
                table.add_row(*(_text(row[key]) for key in ("field", "value", "allowed", "meaning", "from")))
        table.add_section()
    below = Table("what follows", "value", "meaning")
    for entry in follows:
        below.add_row(*(_text(entry[key]) for key in ("name", "value", "meaning")))
    for part in (table, below):
        _console().print(part)


def _compare(first: str, second: str, *, as_json: bool) -> None:
    """Prints the fields in which two differ; what both say alike is left out."""
    names = (first, second)
    configs = [_named(name).config for name in names]
    rows: list[dict[str, Any]] = [
        {"field": path, "a": a, "b": b, "meaning": known.meaning} for path, known in FIELDS.items()
        if (a := _value(configs[0], path)) != (b := _value(configs[1], path))
    ]
    if as_json:
        answer({"a": first, "b": second, "differences": rows}, as_json=True)
        return
    if not rows:
        click.echo(f"{first} and {second}: no difference")
        return
    table = Table("field", first, second, "meaning")
    for row in rows:
        table.add_row(*(_text(row[key]) for key in ("field", "a", "b", "meaning")))
    _console().print(table)


def _named(name: str) -> Loaded:
    if name in preset_names():
        return trace_preset(name)
    if not name.endswith((".yaml", ".yml")):
        raise click.UsageError(
            f"--diff: must be two of {', '.join(preset_names())}, or files that end in .yaml, not {shown(name)}")
    return trace_config(Path(name))


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 160, markup=False, highlight=False)


def _value(config: Config, path: str) -> Any:
    section, name = path.split(".")
    value = getattr(getattr(config, section), name)
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    """A value as it would stand in a file."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)
