"""The command line: one file a subcommand, and what they share."""
