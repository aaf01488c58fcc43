"""Configuration: one tree of dataclasses, loaded from YAML."""

from .load import ConfigError, load_config, load_preset, preset_names
from .tree import (
    PIPELINED_PARTS,
    Config,
    CouConfig,
    DatapathConfig,
    LinkConfig,
    NicConfig,
    ReduceConfig,
    SwitchConfig,
)

__all__ = [
    "PIPELINED_PARTS", "Config", "ConfigError", "CouConfig", "DatapathConfig", "LinkConfig", "NicConfig",
    "ReduceConfig", "SwitchConfig", "load_config", "load_preset", "preset_names",
]
