"""A design comes to rest, and stays so: claims about all of its registers, from any state."""
