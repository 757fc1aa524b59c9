"""Framed text that scrolls, for the rater's screen."""

from rich.console import RenderableType
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.widgets import Static

_COLUMNS_OF_A_FRAME = 4
_LINES_OF_A_FRAME = 2


class Pane(VerticalScroll, can_focus=False):
    """A framed text that scrolls."""

    DEFAULT_CSS = """
    Pane { width: 1fr; height: 1fr; background: ansi_default; padding: 0 1; scrollbar-size: 0 0;
           border: round ansi_bright_black; border-title-color: ansi_default; border-title-style: bold;
           border-subtitle-color: ansi_yellow; border-subtitle-style: bold; }
    Pane.chosen.more { border: round ansi_cyan; }
    """

    def __init__(self, id: str) -> None:  # noqa: A002 - textual's name
        """Make an empty one."""
        super().__init__(id=id)
        self._text = Static(markup=False)

    def compose(self) -> ComposeResult:
        """Contain the text."""
        yield self._text

    def show(self, title: str, content: RenderableType) -> None:
        """Show another text, from its first line."""
        self.display = True
        self.border_title = title
        self._text.update(content)
        self.scroll_home(animate=False, immediate=True)

    @property
    def overflows(self) -> bool:
        """Whether some lines are out of sight."""
        return self.max_scroll_y > 0

    def height_for(self, width: int) -> int:
        """Return the height of a frame of this width that shows all of the text."""
        inside = max(1, width - _COLUMNS_OF_A_FRAME)
        return self._text.get_content_height(Size(), Size(), inside) + _LINES_OF_A_FRAME

    def scroll_lines(self, lines: int) -> None:
        """Scroll down by some lines, or up where negative, as far as there are any."""
        self.scroll_relative(y=lines, animate=False, immediate=True)

    def scroll_pages(self, pages: int) -> None:
        """Scroll down or up by the visible height less one line."""
        self.scroll_lines(pages * max(1, self.scrollable_content_region.height - 1))

    def mark(self, *, chosen: bool) -> None:
        """Draw the number of lines out of sight, and whether the scroll keys move this pane.

        Args:
            chosen: They do.
        """
        above = round(self.scroll_y)
        below = self.max_scroll_y - above
        hidden = [f"↑ {above}"] * (above > 0) + [f"↓ {below}"] * (below > 0)
        unit = "linha" if above + max(below, 0) == 1 else "linhas"
        self.border_subtitle = " ".join([*(["Tab"] if not chosen else []), *hidden, unit]) if hidden else ""
        self.set_class(chosen, "chosen")
        self.set_class(bool(hidden), "more")
