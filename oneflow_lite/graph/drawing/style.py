"""Colours of pictures, for light and dark screens.

The hues are those of Okabe and Ito, which people with any kind of colour vision tell apart: text
and borders differ in lightness, too.
"""

from oneflow_lite.graph.drawing.sketch import KINDS

# Kind -> fill and border on a light screen, fill and border on a dark one.
_BOXES = {
    "input": ("#f4f4f4", "#767676", "#2b2b2b", "#9a9a9a"),
    "elementwise": ("#dff0fb", "#0072b2", "#10344a", "#56b4e9"),
    "reduction": ("#fdeccb", "#b07400", "#45320a", "#e69f00"),
    "product": ("#fbdccb", "#b84f00", "#4a2408", "#f08a4b"),
    "array": ("#f6e0ee", "#a8487f", "#43203a", "#dd92bd"),
    "view": ("#ffffff", "#767676", "#1b1b1b", "#9a9a9a"),
    "transfer": ("#d5f2e8", "#007a58", "#0c3a2e", "#2fc79d"),
    "creation": ("#faf6c8", "#857a00", "#3d390c", "#f0e442"),
    "host": ("#e6e2f8", "#5b4bb5", "#2a2450", "#a99cf2"),
    "other": ("#ececec", "#444444", "#333333", "#cccccc"),
    "folded": ("#e8eef2", "#3f5866", "#22303a", "#9db8c8"),
}
assert list(_BOXES) == list(KINDS)
_PALETTE = ("elementwise", "reduction", "product", "array", "transfer", "host", "creation", "other")


def hue(number: int) -> str:
    """Return a kind whose colours stand for the number of something."""
    return _PALETTE[number % len(_PALETTE)]


def _screen(ink: str, soft: str, paper: str, field: str, line: str) -> str:
    return (
        f"svg.picture,body{{background:{paper}}}.paper{{fill:{paper}}}"
        f"text,body{{fill:{ink};color:{ink}}}.soft{{fill:{soft};color:{soft}}}"
        f".edge{{stroke:{soft}}}.head{{fill:{soft}}}"
        f".field{{fill:{field};stroke:{line}}}.grid{{stroke:{line}}}"
        f".bound{{stroke:{ink}}}.wait{{stroke:{ink}}}"
        f"td,th,pre{{border-color:{line}}}"
    )


def _kinds(fill: int) -> str:
    return "".join(
        f".{kind}{{fill:{row[fill]};stroke:{row[fill + 1]}}}" for kind, row in _BOXES.items()
    )


STYLE = (
    "text{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;stroke:none}"
    "text.title{font-weight:bold;font-size:13px}text.bold{font-weight:bold}"
    ".edge{fill:none;stroke-width:1.2}.order{stroke-width:1.5;stroke-dasharray:6 4}"
    ".box{stroke-width:1.2}.view{stroke-dasharray:3 2}"
    ".group{stroke-width:1.6}.bound{stroke-width:1.4;stroke-dasharray:6 3}"
    ".wait{fill:none;stroke-width:1.4}.inplace{stroke-dasharray:4 2;stroke-width:2}"
    ".assigned{stroke-width:3}.op:hover .box{stroke-width:3}"
    + _screen("#1a1a1a", "#5c5c5c", "#ffffff", "#f8f9fa", "#c9ced3")
    + _kinds(0)
    + "@media(prefers-color-scheme:dark){"
    + _screen("#ececec", "#a8a8a8", "#16181a", "#1e2124", "#454b51")
    + _kinds(2)
    + "}"
)

PAGE_STYLE = (
    "body{font:14px/1.45 system-ui,sans-serif;margin:1.5rem;max-width:110rem}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "h3{font-size:1rem}.scroll{overflow:auto;max-height:88vh}"
    "table{border-collapse:collapse}td,th{border:1px solid;padding:.15rem .55rem;text-align:left;"
    "vertical-align:top;font-variant-numeric:tabular-nums}"
    "pre{border:1px solid;padding:.6rem;overflow:auto;max-height:60vh;font-size:12px}"
    "summary{cursor:pointer;margin:.5rem 0}"
)


def fill_of(kind: str) -> str:
    """Return the colour of a kind on paper."""
    return _BOXES[kind][0]
