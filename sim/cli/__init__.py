"""The command line: `main` finds the subcommand, `command` has one file for each, `shared` what they share."""
