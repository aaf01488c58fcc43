"""Configuration: one tree of dataclasses, loaded from YAML."""

from .describe import FIELDS, SECTIONS, FieldDescription, derived
from .load import (
    ConfigError,
    Loaded,
    load_config,
    load_preset,
    parse_config,
    preset_names,
    trace_config,
    trace_preset,
)
from .need import need_messages
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
    "FIELDS", "SECTIONS", "Config", "ConfigError", "CouConfig", "DatapathConfig", "FieldDescription", "LinkConfig",
    "Loaded", "NicConfig", "ReduceConfig", "SwitchConfig", "derived", "load_config", "load_preset", "need_messages",
    "parse_config", "preset_names", "trace_config", "trace_preset",
]
