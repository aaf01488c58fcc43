"""One operation on NICs: its request, its session, bounds of its traffic, why it failed, its job made fit again."""
