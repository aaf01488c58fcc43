"""Names what variables of the environment say: which engine evaluates, how many threads there are."""
