"""Needs of a use of the hardware from its configuration, beyond that it can be built."""

from .load import ConfigError
from .tree import Config


def need_messages(config: Config, purpose: str, *, get: bool = False) -> None:
    """Refuses hardware without messages.

    Parameters
    ----------
    config : Config
        The hardware.
    purpose : str
        What the messages are for, as it stands behind "must be true for".
    get : bool
        If true, GET is needed besides SEND and PUT.

    Raises
    ------
    ConfigError
        If `nic.p2p`, or `nic.get` where that is needed, is false.
    """
    field, there = ("get", config.nic.get) if get else ("p2p", config.nic.p2p)
    if not there:
        raise ConfigError(f"nic.{field} must be true for {purpose}, not {there!r}")
