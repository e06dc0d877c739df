"""The pages of the reference site, parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "col", "hr", "img", "input", "link", "meta"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A page: its elements in order, ids, links, and what is not well-formed."""

    source: str
    elements: list[Element] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.source)
        self.close()
        self.faults += [f"<{one.tag}> is not closed" for one in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) > len(set(names)):
            self.faults.append(f"<{tag}> has an attribute twice, line {self.getpos()[0]}")
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            self.faults.append(f"</{tag}> closes nothing, line {self.getpos()[0]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    @property
    def ids(self) -> list[str]:
        return [one.attributes["id"] or "" for one in self.elements if "id" in one.attributes]

    @property
    def links(self) -> list[str]:
        addresses = (one.attributes.get("href") or one.attributes.get("src") for one in self.elements)
        return [address for address in addresses if address]

    def with_class(self, name: str) -> list[Element]:
        return [one for one in self.elements if name in (one.attributes.get("class") or "").split()]
