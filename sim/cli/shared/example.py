"""The example at the foot of every `--help`."""


def example(line: str) -> str:
    """The epilog that shows `line`, unwrapped."""
    return f"\b\nExample:\n  {line}"
