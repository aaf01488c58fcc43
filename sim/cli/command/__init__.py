"""Subcommands of `conic`: one file each, that exports `command`."""
