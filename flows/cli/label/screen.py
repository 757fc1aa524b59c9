"""Screen of `tucano audit label`, in Portuguese: progress, a completion next to its prompt, and the keys."""

from collections.abc import Sequence
from typing import Final

from rich.markdown import Markdown
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.events import Event, Key, Paste, Resize
from textual.geometry import Size
from textual.timer import Timer
from textual.widgets import ProgressBar, Static

from flows.cli.label.keys import SequenceRests, hostile_text, key_line, key_name
from flows.cli.label.note import Note, on_one_line
from flows.cli.label.pane import Pane
from flows.cli.label.session import RaterApp
from schemas.errors import InputError
from schemas.shown_text import as_shown
from tasks.audit.labelling import Labelling, RaterView
from tasks.audit.rubrics import general_rubric, task_rubric
from tasks.audit.sheet import MOST_CHARACTERS
from tasks.commerce.push.checker import graphemes

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
SECONDS_TO_UNDO_THE_LAST: Final = 15.0

_COLUMNS_FOR_TWO: Final = 120
_SHARE_OF_A_LONG_PROMPT: Final = 0.4
_LINES_ROUND_THE_BODY: Final = 4


class LabelApp(RaterApp):
    """The terminal's screen during scoring, and the actions of the keys."""

    CSS = (
        RaterApp.CSS
        + """
    #bottom Static { text-wrap: nowrap; text-overflow: ellipsis; }
    #body { height: 1fr; layers: texts over; }
    #body.beside { layout: horizontal; }
    #prompt { height: auto; }
    #body.beside > #prompt { height: 1fr; }
    #rubric { layer: over; display: none; }
    #status.note, #bottom > #label { color: ansi_magenta; }
    #label { width: 11; }
    """
    )

    def __init__(self, labelling: Labelling) -> None:
        """Show a rater's progress through a sheet."""
        super().__init__()
        self._labelling = labelling
        self._before: RaterView | None = None
        self._message = ""
        self._warned = False
        self._rests = SequenceRests()
        self._timer: Timer | None = None
        self._prompt, self._answer, self._rubric = Pane(id="prompt"), Pane(id="answer"), Pane(id="rubric")
        self._chosen = self._answer
        self._body = Container(self._prompt, self._answer, self._rubric, id="body")
        self._progress, self._status, self._scale, self._keys = (Static(markup=False) for _ in range(4))
        self._status.id = "status"
        self._bar = ProgressBar(show_percentage=False, show_eta=False)
        self._label, self._note = Static(" anotação:", id="label"), Note()

    def compose(self) -> ComposeResult:
        """Arrange the lines and panes."""
        yield Horizontal(self._progress, self._bar, id="top")
        yield self._body
        yield Horizontal(self._status, self._label, self._note, id="bottom")
        yield self._scale
        yield self._keys

    def on_mount(self) -> None:
        """Show the first completion."""
        for pane in (self._prompt, self._answer, self._rubric):
            self.watch(pane, "scroll_y", self._mark, init=False)
        self._note.display = self._label.display = False
        self._show()
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """Wrap the texts again."""
        self._fit(event.size)

    async def on_event(self, event: Event) -> None:
        """Act on keys in the order in which they were typed, which the handlers of several widgets would not keep."""
        match event:
            case Key() | Paste() if self._exit:
                # What was typed after the key that left is for nobody.
                return
            case Key() if self._note.display:
                await self._type(event)
            case Key():
                self._press(event)
            case Paste() if self._note.display:
                self._note.put(on_one_line(event.text))
            case Paste():
                return
            case _:
                await super().on_event(event)
                return
        self._draw()

    async def _type(self, event: Key) -> None:
        match key_name(event):
            case "ctrl+c":
                self.interrupt()
            case "enter" | "ctrl+j":
                self._labelling.write_note(self._note.value.strip())
                self._close_note()
            case "escape" | "ctrl+d":
                self._close_note()
            case _ if event.is_printable and event.character is not None:
                self._note.put(event.character)
            case key:
                self.set_focus(self._note)
                await self._check_bindings(key)

    def _press(self, event: Key) -> None:
        if self._rests.drops(event):
            return
        key = key_name(event)
        if key == "ctrl+c":
            self.interrupt()
        elif self._labelling.current is None and key != "u":
            self.exit()
        else:
            try:
                self._act(key)
            except InputError as error:
                self.failure = error
                self.exit()

    def _act(self, key: str) -> None:
        warned, self._warned = self._warned, False
        match key:
            case "1" | "2" | "3" | "4" | "5":
                self._labelling.score(int(key))
                self._show(f"nota {key} salva · u desfaz")
            case "u" if self._labelling.undo():
                self._show("desfeito")
            case "u":
                self._message = "nada a desfazer nesta sessão"
            case "s":
                self._labelling.skip()
                self._show("pulada, volta no fim · u desfaz")
            case "n":
                self._open_note()
            case "?":
                self._turn_rubric()
            case "q":
                self._leave(warned)
            case "ctrl+d":
                self.exit()
            case _:
                self._scroll(key)

    def _open_note(self) -> None:
        # A note from a spreadsheet may have several lines, and control characters.
        self._note.value = on_one_line(self._labelling.note)
        self._note.action_end()
        self._status.display, self._note.display, self._label.display = False, True, True
        self.set_focus(self._note)

    def _close_note(self) -> None:
        self.set_focus(None)
        self._status.display, self._note.display, self._label.display = True, False, False

    def _turn_rubric(self) -> None:
        shown = self._labelling.current
        if shown is None or self._rubric.display:
            self._rubric.display = False
        else:
            text = f"{task_rubric(shown.task)}\n{general_rubric()}"
            self._rubric.show("Rubrica", Markdown(text, hyperlinks=False))
            self._fit(self.size)

    def _leave(self, warned: bool) -> None:
        notes = self._labelling.notes_without_score
        if warned or not notes:
            self.exit()
            return
        self._warned = True
        lost = "1 anotação sem nota se perde" if notes == 1 else f"{notes} anotações sem nota se perdem"
        self._message = f"{lost} ao sair: dê a nota, ou q de novo"

    def _scroll(self, key: str) -> None:
        pane = self._rubric if self._rubric.display else self._chosen
        match key:
            case "down":
                pane.scroll_lines(1)
            case "up":
                pane.scroll_lines(-1)
            case "pagedown" | " ":
                pane.scroll_pages(1)
            case "pageup":
                pane.scroll_pages(-1)
            case "home":
                pane.scroll_lines(-MOST_CHARACTERS)
            case "end":
                pane.scroll_lines(MOST_CHARACTERS)
            case "tab" if not self._rubric.display and self._prompt.display:
                self._chosen = self._prompt if self._chosen is self._answer else self._answer
                self._mark()
            case "escape":
                self._rubric.display = False

    def _show(self, message: str = "") -> None:
        """Show the completion to score now."""
        before, shown = self._before, self._labelling.current
        self._before, self._message, self._chosen = shown, message, self._answer
        self._rubric.display = False
        if self._timer is not None:
            self._timer.stop()
        if shown is None:
            self._prompt.display = False
            self._answer.show("Fim", Text(farewell(self._labelling)))
            self._timer = self.set_timer(SECONDS_TO_UNDO_THE_LAST, self.exit)
        else:
            if before is None or before.task != shown.task:
                self._message = f"{message + ' · ' if message else ''}tarefa {shown.task}: ? mostra a rubrica"
            same = before is not None and before.prompt == shown.prompt
            self._prompt.show("Instrução, a mesma de antes" if same else "Instrução", hostile_text(shown.prompt))
            blank = Text("(resposta vazia)", style="italic bright_black")
            length = graphemes(shown.completion.strip())
            title = f"Resposta, {length} {'caractere' if length == 1 else 'caracteres'}"
            self._answer.show(title, hostile_text(shown.completion) if length else blank)
        self._fit(self.size)

    def _fit(self, size: Size) -> None:
        """Share the room between prompt and completion."""
        beside = size.width >= _COLUMNS_FOR_TWO
        room = size.height - _LINES_ROUND_THE_BODY
        self._body.set_class(beside, "beside")
        long = max(room - self._answer.height_for(size.width), int(room * _SHARE_OF_A_LONG_PROMPT))
        self._prompt.styles.max_height = room if beside else max(1, long)
        self.call_after_refresh(self._mark)

    def _mark(self) -> None:
        """Draw which lines of the texts are out of sight, and which text the scroll keys move."""
        if self._prompt.display and self._prompt.overflows != self._answer.overflows:
            self._chosen = self._prompt if self._prompt.overflows else self._answer
        for pane in (self._prompt, self._answer, self._rubric):
            pane.mark(chosen=pane in {self._chosen, self._rubric})

    def _draw(self) -> None:
        """Draw the lines around the texts."""
        labelling = self._labelling
        noting, current = self._note.display, labelling.current
        note = "" if current is None or self._warned else " ".join(as_shown(labelling.note).split())
        self._progress.update(_progress(labelling))
        self._bar.update(total=labelling.total, progress=labelling.total - labelling.left)
        self._status.update(Text(f" anotação: {note}" if note else f" {self._message}"))
        self._status.set_class(bool(note), "note")
        self._scale.update(key_line(SCALE if current and not noting else ()))
        if noting:
            keys: Sequence[tuple[str, str]] = KEYS_OF_A_NOTE
        elif current is None:
            keys = KEYS_AT_THE_END
        else:
            keys = KEYS_OF_THE_RUBRIC if self._rubric.display else KEYS
        self._keys.update(key_line(keys))


def farewell(labelling: Labelling) -> str:
    """Return a sentence on what was scored and what is left."""
    pace = f", {labelling.seconds_each:.0f} s cada" if labelling.seconds_each is not None else ""
    now = f"{labelling.scored_now} nesta sessão{pace}"
    if labelling.left:
        verb = "falta" if labelling.left == 1 else "faltam"
        return f"{verb} {labelling.left} de {labelling.total} ({now}); o mesmo comando continua daqui"
    return f"pronto: {answers(labelling.total)} com nota de {labelling.rater} ({now})"


def answers(count: int) -> str:
    """Return a number of completions in words."""
    return "1 resposta" if count == 1 else f"{count} respostas"


def minutes(seconds: float) -> str:
    """Return a duration in words."""
    whole = round(seconds / 60)
    if whole < 1:
        return "menos de 1 min"
    return f"cerca de {whole} min" if whole < 60 else f"cerca de {whole // 60} h {whole % 60:02d} min"


def _progress(labelling: Labelling) -> Text:
    done = labelling.total - labelling.left
    shown = labelling.current
    parts = [f"{min(done + 1, labelling.total)} de {labelling.total}", shown.task if shown else "fim"]
    if labelling.seconds_each is not None and labelling.left:
        parts.append(minutes(labelling.seconds_each * labelling.left))
    if labelling.skipped:
        parts.append(f"{labelling.skipped} {'pulada' if labelling.skipped == 1 else 'puladas'}")
    return Text(" " + " · ".join(parts))
