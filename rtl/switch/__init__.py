"""The switch: input ports, unicast table, output ports."""
