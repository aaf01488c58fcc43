"""What all tests share."""

from amaranth.hdl import UnusedElaboratable

# A component that a test builds only to see it refused is never elaborated, and that is fine. Amaranth says so when
# the object is collected, which is too late for the filters of a test.
UnusedElaboratable._MustUse__silence = True
