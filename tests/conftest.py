"""What all tests share."""

from amaranth.hdl import Elaboratable

# A component that a test builds only to see it refused is never elaborated, and that is fine. Amaranth warns when the
# object is collected, which is too late for the filters of a test.
Elaboratable._MustUse__silence = True

pytest_plugins = ["testbench.cost"]
