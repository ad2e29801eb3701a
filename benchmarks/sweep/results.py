"""What was measured of a case at one size, as a line of text and back."""

from dataclasses import dataclass

from libraries import OURS
from report import rounded
from sweep.calls import Case
from timing import Measurement

_BETWEEN = ";"
NUMPY = "NumPy"


@dataclass(frozen=True)
class Result:
    """Our time in times of each other library's.

    Attributes
    ----------
    seconds : float
        NumPy's time.
    ratios : mapping
        By library; NumPy first.
    spread : float
        Of the ratio to NumPy.
    """

    chapter: str
    call: str
    dtype: str
    layout: str
    size: int
    seconds: float
    spread: float
    ratios: dict[str, float]

    @classmethod
    def of(cls, case: Case, size: int, measured: Measurement) -> "Result":
        others = [name for name in measured.names if name != OURS.name]
        ratios = {name: measured.ratio(OURS.name, name) for name in others}
        return cls(
            case.chapter,
            case.name,
            case.dtype,
            case.layout,
            size,
            rounded(measured.summary(NUMPY).median),
            rounded(ratios[NUMPY].spread),
            {name: rounded(ratio.median) for name, ratio in ratios.items()},
        )

    @property
    def ratio(self) -> float:
        return self.ratios[NUMPY]

    def as_line(self) -> str:
        ratios = [f"{name}={ratio}" for name, ratio in self.ratios.items()]
        cells = (self.chapter, self.call, self.dtype, self.layout, self.size, self.seconds)
        return _BETWEEN.join(map(str, (*cells, self.spread, *ratios)))

    @classmethod
    def of_line(cls, line: str) -> "Result":
        chapter, call, dtype, layout, size, seconds, spread, *ratios = line.split(_BETWEEN)
        pairs = (ratio.split("=") for ratio in ratios)
        by_name = {name: float(ratio) for name, ratio in pairs}
        return cls(chapter, call, dtype, layout, int(size), float(seconds), float(spread), by_name)
