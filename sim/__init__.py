"""The cluster simulator, its host library and the command line."""

import sys

from sim.former_names import FormerNames

if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
    # In front of all others: a package that has moved would otherwise be searched for its modules under both names.
    sys.meta_path.insert(0, FormerNames())
