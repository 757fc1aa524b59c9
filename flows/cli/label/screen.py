"""Screen of `tucano audit label`, in Portuguese: progress, a completion next to its prompt, and the keys."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from rich.box import ROUNDED
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.control import Control
from rich.layout import Layout
from rich.markdown import Markdown
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.screen import Screen
from rich.segment import Segment, SegmentLines
from rich.table import Table
from rich.text import Text

from flows.cli.label.typed_line import TypedLine
from schemas.shown_text import as_shown
from tasks.audit.labelling import Labelling, Shown
from tasks.commerce.push.scorer import graphemes

SCALE: Final = (
    ("1", "não serve"),
    ("2", "quase não serve"),
    ("3", "serve corrigida"),
    ("4", "um deslize"),
    ("5", "como está"),
)
KEYS: Final = (
    ("u", "desfaz"),
    ("s", "pula"),
    ("n", "anota"),
    ("?", "rubrica"),
    ("espaço ↑ ↓", "rola"),
    ("q", "sai"),
)
KEYS_OF_THE_RUBRIC: Final = (("?", "volta à resposta"), ("espaço ↑ ↓", "rola"), ("q", "sai"))
KEYS_OF_A_NOTE: Final = (("Enter", "salva a anotação"), ("Esc", "desiste"))
KEYS_AT_THE_END: Final = (("u", "desfaz a última nota"), ("outra tecla", "sai"))

_COLUMNS_FOR_TWO: Final = 120
_SHARE_OF_A_LONG_PROMPT: Final = 0.4
_LINES_OF_A_FRAME: Final = 2
_LINES_ROUND_THE_BODY: Final = 4
# A line that is wider on the terminal than it was counted is cut off, and moves no other line.
_CUT_LINES_OFF, _WRAP_LINES = "\x1b[?7l", "\x1b[?7h"


@dataclass
class Pane:
    """A framed text that scrolls."""

    title: str
    content: RenderableType
    chosen: bool = False
    """Whether the scroll keys move this one."""
    top: int = 0
    """The first visible line."""
    _lines: list[list[Segment]] = field(default_factory=list)
    _width: int = 0
    _room: int = 1

    @property
    def overflows(self) -> bool:
        """Whether some lines are out of sight."""
        return len(self._lines) > self._room

    def wrap(self, console: Console, width: int) -> int:
        """Wrap the text for a frame of this width, and return the height of a frame that shows all of it."""
        if width != self._width:
            options = console.options.update(width=max(1, width - 4), height=None)
            self._lines, self._width = console.render_lines(self.content, options, pad=False), width
        return len(self._lines) + _LINES_OF_A_FRAME

    def fit(self, height: int) -> None:
        """Set the frame's height."""
        self._room = max(1, height - _LINES_OF_A_FRAME)
        self.scroll(0)

    def scroll(self, lines: int) -> None:
        """Scroll down by some lines, or up where negative, as far as there are any."""
        self.top = max(0, min(self.top + lines, len(self._lines) - self._room))

    def scroll_pages(self, pages: int) -> None:
        """Scroll down or up by the visible height less one line."""
        self.scroll(pages * max(1, self._room - 1))

    def __rich__(self) -> Panel:
        """Draw the frame with the visible part of the text."""
        above, below = self.top, len(self._lines) - self._room - self.top
        hidden = [f"↑ {above}"] * (above > 0) + [f"↓ {below}"] * (below > 0)
        unit = "linha" if above + max(below, 0) == 1 else "linhas"
        more = " ".join([*(["Tab"] if not self.chosen else []), *hidden, unit]) if hidden else ""
        return Panel(
            SegmentLines(self._lines[self.top : self.top + self._room], new_lines=True),
            box=ROUNDED,
            title=Text(self.title, style="bold default"),
            title_align="left",
            subtitle=Text(more, style="bold yellow") if more else None,
            subtitle_align="right",
            border_style="cyan" if self.chosen and hidden else "bright_black",
            height=self._room + _LINES_OF_A_FRAME,
        )


class LabelScreen:
    """The terminal's screen during scoring."""

    def __init__(self, console: Console) -> None:
        """Draw on a terminal."""
        self._console = console
        self._rubric: Pane | None = None
        self._panes: tuple[Pane, ...] = ()
        self.message = ""
        """Result of the last key press."""

    @property
    def rubric_is_shown(self) -> bool:
        """Whether the rubric covers the completion."""
        return self._rubric is not None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Use the terminal's alternate screen while the block runs."""
        file = self._console.file
        with self._console.screen():
            print(_CUT_LINES_OFF, end="", file=file, flush=True)
            try:
                yield
            finally:
                print(_WRAP_LINES, end="", file=file, flush=True)

    def show(self, shown: Shown, *, same_prompt: bool) -> None:
        """Show another completion, from its first line."""
        self._rubric = None
        prompt = Pane("Instrução, a mesma de antes" if same_prompt else "Instrução", _hostile(shown.prompt))
        blank = Text("(resposta vazia)", style="italic bright_black")
        length = graphemes(shown.completion.strip())
        title = f"Resposta, {length} {'caractere' if length == 1 else 'caracteres'}"
        answer = Pane(title, _hostile(shown.completion) if length else blank, chosen=True)
        self._panes = (prompt, answer)

    def show_end(self, sentence: str) -> None:
        """Show that nothing is left."""
        self._rubric = None
        self._panes = (Pane("Fim", Text(sentence), chosen=True),)

    def show_rubric(self, markdown: str) -> None:
        """Show a rubric in place of the completion."""
        self._rubric = Pane("Rubrica", Markdown(markdown, hyperlinks=False), chosen=True)

    def hide_rubric(self) -> None:
        """Show the completion again."""
        self._rubric = None

    def choose_other(self) -> None:
        """Let the scroll keys move the other text."""
        for pane in self._panes if self._rubric is None else ():
            pane.chosen = not pane.chosen

    @property
    def scrolling(self) -> Pane:
        """The pane that the scroll keys move."""
        return self._rubric or next(pane for pane in self._panes if pane.chosen)

    def draw(self, labelling: Labelling, size: tuple[int, int], note: TypedLine | None = None) -> None:
        """Draw the whole screen.

        Args:
            labelling: The rater's progress.
            size: Columns and lines of the terminal.
            note: The note that is being typed.
        """
        self._console.size = size
        whole = Layout()
        whole.split_column(
            Layout(_progress(labelling), size=1),
            self._body(size),
            Layout(self._status(labelling, note, size[0]), size=1),
            Layout(_keys(SCALE) if note is None and labelling.current else Text(" "), size=1),
            Layout(_keys(self._keys(labelling, note)), size=1),
        )
        # One write, so that a half-drawn screen is never seen.
        with self._console:
            self._console.control(Control.home())
            self._console.print(Screen(whole), end="")

    def _body(self, size: tuple[int, int]) -> Layout:
        panes = self._panes if self._rubric is None else (self._rubric,)
        width, room = size[0], size[1] - _LINES_ROUND_THE_BODY
        if len(panes) == 1:
            panes[0].wrap(self._console, width)
            panes[0].fit(room)
            return Layout(panes[0])
        body = Layout()
        if width >= _COLUMNS_FOR_TWO:
            left = width // 2
            for pane, columns in zip(panes, (left, width - left), strict=True):
                pane.wrap(self._console, columns)
                pane.fit(room)
            body.split_row(Layout(panes[0], size=left), Layout(panes[1]))
        else:
            prompt, answer = (pane.wrap(self._console, width) for pane in panes)
            if prompt + answer > room:
                prompt = max(room - answer, min(prompt, int(room * _SHARE_OF_A_LONG_PROMPT)))
            panes[0].fit(prompt)
            panes[1].fit(room - prompt)
            body.split_column(Layout(panes[0], size=prompt), Layout(panes[1]))
        if sum(pane.overflows for pane in panes) == 1:
            for pane in panes:
                pane.chosen = pane.overflows
        return body

    def _status(self, labelling: Labelling, note: TypedLine | None, width: int) -> Text:
        if note is not None:
            return _typed(note, width)
        if labelling.current and labelling.note:
            return _cut(f" anotação: {' '.join(as_shown(labelling.note).split())}", "magenta")
        return _cut(f" {self.message}", "green")

    def _keys(self, labelling: Labelling, note: TypedLine | None) -> Sequence[tuple[str, str]]:
        if note is not None:
            return KEYS_OF_A_NOTE
        if labelling.current is None:
            return KEYS_AT_THE_END
        return KEYS_OF_THE_RUBRIC if self.rubric_is_shown else KEYS


def minutes(seconds: float) -> str:
    """Return a duration in words."""
    whole = round(seconds / 60)
    if whole < 1:
        return "menos de 1 min"
    return f"cerca de {whole} min" if whole < 60 else f"cerca de {whole // 60} h {whole % 60:02d} min"


def _progress(labelling: Labelling) -> RenderableType:
    done = labelling.total - labelling.left
    shown = labelling.current
    parts = [f"{min(done + 1, labelling.total)} de {labelling.total}", shown.task if shown else "fim"]
    if labelling.seconds_each is not None and labelling.left:
        parts.append(minutes(labelling.seconds_each * labelling.left))
    if labelling.skipped:
        parts.append(f"{labelling.skipped} {'pulada' if labelling.skipped == 1 else 'puladas'}")
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(no_wrap=True, ratio=1)
    line.add_column(justify="right", width=20)
    line.add_row(Text(" " + " · ".join(parts), style="bold"), ProgressBar(labelling.total, done, width=20))
    return line


def _keys(keys: Sequence[tuple[str, str]]) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for key, meaning in keys:
        line.append(f" {key} ", style="bold cyan")
        line.append(f"{meaning} ")
    return line


def _typed(note: TypedLine, width: int) -> Text:
    label = " anotação: "
    before, at, behind = note.text[: note.place], note.text[note.place : note.place + 1], note.text[note.place + 1 :]
    before = before[-width:]
    while cell_len(label + before) > width - 4:
        before = before[1:]
    return Text.assemble((label, "magenta"), before, (at or " ", "reverse"), behind[:width], no_wrap=True)


def _cut(text: str, style: str) -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _hostile(text: str) -> Text:
    return Text(re.sub(r"\s+\Z", "", as_shown(text)), overflow="fold")
