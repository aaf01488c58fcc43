"""A real run, followed cycle by cycle: what the page ``docs/walk.md`` shows.

``python -m sim.walk docs/figures`` simulates it and writes ``walk.json`` and the pictures that are drawn from it.
"""
