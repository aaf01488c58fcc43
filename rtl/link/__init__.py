"""The link: flits and credits on its two virtual channels, packets to flits and back."""
