"""Configuration: one tree of dataclasses, loaded from YAML."""

from .tree import Config, CouConfig, DatapathConfig, LinkConfig, NicConfig, ReduceConfig, SwitchConfig
from .load import ConfigError, load_config, load_preset, preset_names

__all__ = [
    "Config", "ConfigError", "CouConfig", "DatapathConfig", "LinkConfig", "NicConfig", "ReduceConfig",
    "SwitchConfig", "load_config", "load_preset", "preset_names",
]
