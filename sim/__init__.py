"""The cluster simulator, its host library and the command line."""
