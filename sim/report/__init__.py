"""Views of what a cluster did: timelines for a page and for trace viewers."""
