"""Flags that are given twice: the first would do nothing, so the second is refused."""

import click


def refuse_repeats(command: click.Command, context: click.Context, arguments: list[str]) -> None:
    """Refuses each flag of `command`, or of a subcommand that `arguments` name, that takes one value and has two.

    Raises
    ------
    click.UsageError
        Naming the flag; or what is wrong with the arguments besides.
    """
    inner = click.Context(command, info_name=command.name, parent=context, **command.context_settings)
    _, rest, order = command.make_parser(inner).parse_args(list(arguments))
    for param in order:
        takes_one = isinstance(param, click.Option) and not (param.multiple or param.is_flag)
        if takes_one and (times := order.count(param)) > 1:
            raise click.UsageError(f"{max(param.opts, key=len)}: must be given once, not {times} times", inner)
    if isinstance(command, click.Group) and rest:
        _, found, below = command.resolve_command(inner, rest)
        if found is not None:
            refuse_repeats(found, inner, below)
