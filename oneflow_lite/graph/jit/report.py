"""What is known of a jitted function, for programs and for readers."""

from typing import Any


class Report(dict[str, Any]):
    """What Jitted.report() returns: a dict, whose text is for readers."""

    def __str__(self) -> str:
        lines = [f"{self['name']}: {self['traces']} traces, {self['programs']} programs kept"]
        lines += [f"  traced: {reason}" for reason in self["reasons"]]
        lines += [f"  static: {path}: {why}" for path, why in self["static"].items()]
        lines += [f"  eager: {why}" for why in self["eager"]]
        for k, (run, captures) in enumerate(zip(self["runs"], self["captures"], strict=False)):
            counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in run.items())
            lines.append(f"  program {k}: {counts}")
            lines += [f"    captured: {text}" for text in captures]
        return "\n".join(lines)
