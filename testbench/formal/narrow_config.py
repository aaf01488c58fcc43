"""Configurations of small formats, for proofs."""

from collections.abc import Mapping
from dataclasses import fields

from firmware_models.abi.formats import WIRE, FormatSet
from firmware_models.config import Config


def narrowed(config: Config, widths: Mapping[str, int]) -> Config:
    """A configuration whose formats have fields of other widths, by their names."""
    formats = WIRE.narrowed(widths)

    class Narrowed(Config):
        """A configuration for one proof."""

        @property
        def formats(self) -> FormatSet:
            return formats

    return Narrowed(**{field.name: getattr(config, field.name) for field in fields(config)})
