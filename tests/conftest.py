"""What all tests share."""

import os

from amaranth.hdl import Elaboratable

# A component that a test builds only to see it refused is never elaborated, and that is fine. Amaranth warns when the
# object is collected, which is too late for the filters of a test.
Elaboratable._MustUse__silence = True

# Tests run beside each other already: a cluster takes the other cores only where a test asks for threads.
os.environ.setdefault("CONIC_THREADS", "1")

pytest_plugins = ["testbench.cost", "testbench.failing"]
