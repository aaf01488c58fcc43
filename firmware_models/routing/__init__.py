"""Multicast routing at machine scale: topologies, formats, trees and colours. Page: ``docs/routing.md``."""
