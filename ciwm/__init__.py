"""ciwm: what an upstream sync costs, whether it runs, and whether it got slower."""

__version__ = "0.1.0"
