"""Parts that subcommands share: types of options, how answers are printed, how bad input is refused."""
