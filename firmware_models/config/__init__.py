"""Configuration: one tree of dataclasses, loaded from YAML."""

from .load import ConfigError, load_config, load_preset, preset_names
from .tree import (
    Config,
    CouConfig,
    DatapathConfig,
    LinkConfig,
    NicConfig,
    ReduceConfig,
    SwitchConfig,
)

__all__ = [
    "Config", "ConfigError", "CouConfig", "DatapathConfig", "LinkConfig", "NicConfig",
    "ReduceConfig", "SwitchConfig", "load_config", "load_preset", "preset_names",
]
