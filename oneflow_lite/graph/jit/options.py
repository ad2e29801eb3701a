"""The options of flow.jit."""

from dataclasses import dataclass
from typing import Any

from oneflow_lite.graph.compiling import context_for
from oneflow_lite.graph.executable import check_addto, check_cuda_graph, check_lanes


@dataclass(frozen=True)
class Options:
    """How jit() was called."""

    static: Any = ()
    donate: Any = ()
    on_break: str = "raise"
    check: int = 0
    freeze: bool = False
    max_programs: int = 64
    lanes: int = 1
    addto: bool = False
    opt_level: int | None = None
    cuda_graph: bool | None = None

    def ways(self) -> dict[str, Any]:
        """Return those of compile()."""
        return {
            "lanes": self.lanes,
            "addto": self.addto,
            "opt_level": self.opt_level,
            "cuda_graph": self.cuda_graph,
        }

    def verify(self) -> None:
        """Raise ValueError or TypeError where an option is none."""
        if self.on_break not in ("raise", "eager"):
            raise ValueError(f"[jit] on_break: expected 'raise' or 'eager', got {self.on_break!r}")
        check_addto("jit", self.addto)
        if type(self.freeze) is not bool:
            raise TypeError(f"[jit] freeze: expected True or False, got {self.freeze!r}")
        if self.addto and self.check:
            raise ValueError(
                "[jit] addto changes the last bits of results, so that check cannot compare them"
            )
        check_lanes("jit", self.lanes)
        check_cuda_graph("jit", self.cuda_graph)
        context_for("jit", self.opt_level)
        for name, least in {"check": 0, "max_programs": 1}.items():
            value = getattr(self, name)
            if type(value) is not int:
                raise TypeError(f"[jit] {name}: expected an integer, got {value!r}")
            if value < least:
                raise ValueError(f"[jit] {name}: expected at least {least}, got {value}")
