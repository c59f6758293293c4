"""A page as a tree, read as a browser reads it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from attrs import define, field

_VOID = frozenset({"meta", "img", "br", "hr", "link", "input"})


@define(eq=False)
class Element:
    """An element: its name, attributes and children, texts among them."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(factory=list)

    def all(self, *tags: str) -> Iterator[Element]:
        """Elements inside, in order; of some tags, or any."""
        for child in self.children:
            if isinstance(child, Element):
                if not tags or child.tag in tags:
                    yield child
                yield from child.all(*tags)

    def one(self, tag: str) -> Element:
        (found,) = self.all(tag)
        return found

    @property
    def text(self) -> str:
        """All texts inside, with single spaces."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._texts()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.tag == tag, f"</{tag}> closes <{closed.tag}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(html: str) -> Element:
    """The page; every element is closed by its own tag."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    (root,) = reader.open
    return root


def section(page: Element, name: str) -> Element:
    (found,) = (one for one in page.all("section") if one.attributes["id"] == name)
    return found


def rows(table: Element) -> list[list[str]]:
    """Texts of the cells, the headings of columns first."""
    return [[cell.text for cell in row.all("th", "td")] for row in table.all("tr")]


def table(page: Element, caption: str) -> list[list[str]]:
    """The rows of the table with a caption."""
    (found,) = (
        one for one in page.all("table") for name in one.all("caption") if name.text == caption
    )
    return rows(found)


def folded(page: Element, summary: str) -> list[list[str]]:
    """The rows of the table that is folded under a summary."""
    (found,) = (
        one
        for one in page.all("details")
        for name in one.all("summary")
        if name.text.split(",")[0] == summary
    )
    return rows(found.one("table"))
