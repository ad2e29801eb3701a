"""Reports and pictures as one page of HTML, which needs nothing from elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oneflow_lite.graph.drawing.marks import element, plain
from oneflow_lite.graph.drawing.panel import Panel
from oneflow_lite.graph.drawing.style import PAGE_STYLE, STYLE

_MOST_ROWS = 2000  # of a table
# Parts of a report that pictures show, or that are numbers for programs.
_LEFT_OUT = {"bases", "memories", "inline_bases", "edges", "lanes", "site", "unit", "units"}
_LEFT_OUT |= {"strands", "memories", "writes", "operation"}


class Chapter(NamedTuple):
    """What a page says of one program."""

    title: str
    panels: Sequence[Panel]
    report: Mapping[str, Any]
    text: str = ""  # of the program; empty: it is not shown


def page_of(title: str, chapters: Sequence[Chapter]) -> str:
    """Return the page."""
    head = element("meta", charset="utf-8") + element("title", plain(title))
    head += element("style", STYLE + PAGE_STYLE)
    body = [element("h1", plain(title))]
    if len(chapters) > 1:
        links = "".join(
            element("li", element("a", plain(each.title), href=f"#program{k}"))
            for k, each in enumerate(chapters)
        )
        body.append(element("ol", links))
    for k, chapter in enumerate(chapters):
        if len(chapters) > 1:
            body.append(element("h1", plain(chapter.title), id=f"program{k}"))
        body += _chapter(chapter)
    inside = element("head", head) + element("body", "\n".join(body))
    return f"<!DOCTYPE html>\n{element('html', inside, lang='en')}\n"


def _chapter(chapter: Chapter) -> Iterator[str]:
    for panel in chapter.panels:
        yield element("h2", plain(panel.title))
        yield element("div", panel.svg(), class_="scroll")
    yield from _sections(chapter.report)
    if not chapter.text:
        return
    text = element("summary", "The program as text") + element("pre", plain_lines(chapter.text))
    yield element("details", text)


def plain_lines(text: str) -> str:
    """Return lines of text as they stand between tags."""
    return "\n".join(map(plain, text.split("\n")))


def _sections(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers by themselves, then a table or a list for each part that has several."""
    single = {key: x for key, x in report.items() if not isinstance(x, Mapping | list | tuple)}
    if single:
        yield element("h2", "Report")
        yield _pairs(single)
    for key, value in report.items():
        if key not in single and key not in _LEFT_OUT:
            yield from _part(key, value, "h2")


def _part(key: str, value: Any, level: str) -> Iterator[str]:
    if not value:
        yield element(level, plain(f"{_words(key)}: none"))
        return
    yield element(level, plain(_words(key)))
    if isinstance(value, Mapping):
        single = {k: x for k, x in value.items() if not _is_rows(x)}
        if single:
            yield _pairs({k: x for k, x in single.items() if k not in _LEFT_OUT})
        for name, rows in value.items():
            if name not in single and name not in _LEFT_OUT:
                yield from _part(f"{key}: {name}", rows, "h3")
    elif _is_rows(value):
        yield _table(value)
    else:
        yield element("ol", "".join(element("li", plain(_text(x))) for x in value[:_MOST_ROWS]))
        if len(value) > _MOST_ROWS:
            yield element("p", f"... and {len(value) - _MOST_ROWS:,} more")


def _is_rows(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping | tuple)


def _pairs(rows: Mapping[Any, Any]) -> str:
    lines = "".join(
        element("tr", element("th", plain(_words(key))) + element("td", plain(_text(x))))
        for key, x in rows.items()
    )
    return element("table", lines)


def _table(rows: Sequence[Any]) -> str:
    """Return rows as a table: of dictionaries, or of tuples."""
    if isinstance(rows[0], Mapping):
        shown = [row for row in rows[:_MOST_ROWS] if isinstance(row, Mapping)]
        keys = dict.fromkeys(k for row in shown for k in row if k not in _LEFT_OUT - {"site"})
        heads = element("tr", "".join(element("th", plain(_words(k))) for k in keys))
        cells = [[_text(row.get(k, "")) for k in keys] for row in shown]
    else:
        heads, cells = "", [list(map(_text, row)) for row in rows[:_MOST_ROWS]]
    body = "".join(
        element("tr", "".join(element("td", plain(x) or "&#160;") for x in row)) for row in cells
    )
    more = len(rows) - _MOST_ROWS
    rest = element("p", f"... and {more:,} more") if more > 0 else ""
    return element("div", element("table", heads + body) + rest, class_="scroll")


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(k)} {_text(x)}" for k, x in value.items()) or "none"
    if _is_site(value):
        return f"{value[0]}:{value[1]}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return str(value)


def _is_site(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], int)
    )
