"""`--preset` and `--config`: which hardware."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from firmware_models.config import Config, ConfigError, load_config, load_preset

Command = TypeVar("Command", bound=Callable[..., Any])


def hardware_options(command: Command) -> Command:
    """Gives `command` the flags `--preset` and `--config`."""
    for option in (
        click.option("--config", type=click.Path(path_type=Path),
                     help="YAML file of the hardware, instead of --preset."),
        click.option("--preset", help="Preset of the hardware.  [default: small]"),
    ):
        command = option(command)
    return command


def hardware(preset: str | None, config: Path | None, *, simulated: bool = True) -> tuple[str, Config]:
    """The configuration that the flags name, and what to call it in a report.

    Parameters
    ----------
    simulated : bool
        If true, it runs on parts that know plain links only.

    Raises
    ------
    ConfigError
        If it cannot be loaded, or not be `simulated`.
    """
    if preset is not None and config is not None:
        raise click.UsageError("--config: give --preset or --config, not both")
    if config is not None:
        name, tree = str(config), load_config(config)
    else:
        name = "small" if preset is None else preset
        tree = load_preset(name)
    if simulated and tree.link.reliable:
        raise ConfigError(
            f"{name}: link.reliable must be false here (`conic verify --frame-errors` turns it on), not True"
        )
    return name, tree
