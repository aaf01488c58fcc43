"""Study of hosts that are late or interrupted."""
