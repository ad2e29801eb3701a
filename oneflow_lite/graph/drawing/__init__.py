"""Pictures of programs, made without any other tool."""

from oneflow_lite.graph.drawing.picture import (
    draw_functions as draw_functions,
    draw_run as draw_run,
)

__all__ = ["draw_functions", "draw_run"]
