"""Graph mode: programs that are planned and run as a whole."""

from oneflow_lite.graph import analyses as analyses

__all__ = ["analyses"]
