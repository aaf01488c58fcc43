"""Models without hardware, and their studies: networks under congestion control, memory of connections."""
