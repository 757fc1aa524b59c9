"""What a browser makes of a page: its elements, its text, and what could fetch or run something."""

from html.parser import HTMLParser

FETCHES = {"src", "srcset", "href", "xlink:href", "action"}


class PageElements(HTMLParser):
    """The names of a page's elements, every attribute that could fetch or run something, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.active: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for name, value in attrs:
            inside = name in {"href", "xlink:href"} and value is not None and value.startswith("#")
            if name.startswith("on") or (name in FETCHES and not inside):
                self.active.append((name, value))

    def handle_data(self, data: str) -> None:
        self.text += data
