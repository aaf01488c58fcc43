"""One algorithm a file. How to write one: ``firmware_models/README.md``."""
