"""What is known of a jitted function, for programs and for readers."""

from oneflow_lite.graph.drawing.page import Chapter
from oneflow_lite.graph.report import Readable


class Report(Readable):
    """What Jitted.report() returns: a dict, whose text and page are for readers."""

    def __str__(self) -> str:
        lines = [f"{self['name']}: {self['traces']} traces, {self['programs']} programs kept"]
        lines += [f"  traced: {reason}" for reason in self["reasons"]]
        lines += [f"  static: {path}: {why}" for path, why in self["static"].items()]
        lines += [f"  eager: {why}" for why in self["eager"]]
        for k, (run, captures) in enumerate(zip(self["runs"], self["captures"], strict=False)):
            lines.append(f"  program {k}:")
            lines += [f"    captured: {text}" for text in captures]
            lines += [f"    {line}" for line in str(run).splitlines()]
        return "\n".join(lines)

    def chapters(self) -> list[Chapter]:
        """Return traces and their reasons, then each program."""
        own = {key: x for key, x in self.items() if key not in ("runs", "captures")}
        runs = enumerate(zip(self["runs"], self["captures"], strict=False))
        programs = [
            Chapter(f"program {k}", (), {"captures": captures, **run})
            for k, (run, captures) in runs
        ]
        return [Chapter(self["name"], (), own), *programs]
