"""Fabric of a cluster: how nodes and switches are wired, and the routes between them. Knows no hardware."""
