"""Models of a link's two ends and of the wire between them, and the benches of the link."""

from testbench.link.link_model import LinkSink, LinkSource, LinkWire

__all__ = ["LinkSink", "LinkSource", "LinkWire"]
