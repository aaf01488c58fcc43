"""Study of multicast trees in small forwarding tables."""
