"""Content of pages: figures that are measured for them, and tables made of figures."""
