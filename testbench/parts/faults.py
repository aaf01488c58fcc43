"""Parts with one statement changed: errors that the bench of a part must find."""

import inspect
import sys

from amaranth.lib import wiring


def changed(part: type[wiring.Component], old: str, new: str) -> type[wiring.Component]:
    """A component whose module says `new` where it says `old`, once.

    Raises
    ------
    ValueError
        If the module does not say `old` exactly once: the error has to be planted anew.
    """
    module = sys.modules[part.__module__]
    source = inspect.getsource(module)
    if source.count(old) != 1:
        raise ValueError(f"{part.__module__} must say {old!r} once, not {source.count(old)} times")
    names = dict(vars(module))
    exec(compile(source.replace(old, new), module.__file__, "exec"), names)
    return names[part.__name__]
