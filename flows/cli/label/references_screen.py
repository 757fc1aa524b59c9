"""Screen of `tucano audit references`, in Portuguese: progress, a prompt, a question about it, and the keys."""

from collections.abc import Sequence
from typing import Any, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Event, Key, Paste
from textual.widgets import ProgressBar, Static

from flows.cli.label.keys import SequenceRests, hostile_text, key_line, key_name
from flows.cli.label.note import Note, on_one_line
from flows.cli.label.pane import Pane
from flows.cli.label.questions import QUESTIONS, UNKNOWN_KEY, WRITE_KEY
from flows.cli.label.session import RaterApp
from schemas.errors import InputError
from tasks.audit.references import ReferenceQuestion, ReferenceSession

KEYS: Final = (("u", "desfaz"), ("espaço ↑ ↓", "rola"), ("q", "sai"))
KEYS_OF_WRITING: Final = (("Enter", "salva, até 100 caracteres"), ("Esc", "desiste"))
KEYS_AT_THE_END: Final = (("u", "desfaz a última resposta"), ("outra tecla", "sai"))
LONGEST_COMPLAINT: Final = 100
"""Most characters of what is written."""


class ReferencesApp(RaterApp):
    """The terminal's screen while a person gives references, and the actions of the keys."""

    CSS = (
        RaterApp.CSS
        + """
    #question { text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
    #choices { height: auto; }
    #label { width: 9; color: ansi_magenta; }
    """
    )

    def __init__(self, session: ReferenceSession) -> None:
        """Show a person's progress."""
        super().__init__()
        self._session = session
        self._before: ReferenceQuestion | None = None
        self._message = ""
        self._rests = SequenceRests()
        self._prompt = Pane(id="prompt")
        self._progress, self._status, self._asked, self._choices, self._keys = (Static(markup=False) for _ in range(5))
        self._status.id, self._asked.id, self._choices.id = "status", "question", "choices"
        self._bar = ProgressBar(show_percentage=False, show_eta=False)
        self._note = Note()
        self._note.max_length = LONGEST_COMPLAINT
        self._writing = Horizontal(Static(" queixa:", id="label"), self._note, id="writing")

    def compose(self) -> ComposeResult:
        """Arrange the lines and the pane."""
        yield Horizontal(self._progress, self._bar, id="top")
        yield self._prompt
        yield self._status
        yield self._asked
        yield self._choices
        yield self._writing
        yield self._keys

    def on_mount(self) -> None:
        """Show the first question."""
        self.watch(self._prompt, "scroll_y", self._mark, init=False)
        self._writing.display = False
        self._show()
        self._draw()

    def on_resize(self) -> None:
        """Count the hidden lines again."""
        self.call_after_refresh(self._mark)

    async def on_event(self, event: Event) -> None:
        """Act on keys in the order in which they were typed, which the handlers of several widgets would not keep."""
        match event:
            case Key() | Paste() if self._exit:
                return
            case Key():
                await self._press(event)
            case Paste() if self._writing.display:
                self._note.put(on_one_line(event.text))
            case Paste():
                return
            case _:
                await super().on_event(event)
                return
        self._draw()

    async def _press(self, event: Key) -> None:
        if self._rests.drops(event):
            return
        key = key_name(event)
        try:
            if key == "ctrl+c":
                self.interrupt()
            elif self._writing.display:
                await self._write(event, key)
            elif self._session.current is None and key != "u":
                self.exit()
            else:
                self._act(key, self._session.current)
        except InputError as error:
            self.failure = error
            self.exit()

    def _act(self, key: str, question: ReferenceQuestion | None) -> None:
        choices = {} if question is None else QUESTIONS[question.field].choices
        if key in choices:
            wording, value = choices[key]
            self._answer(value, wording)
        elif question is not None and key == UNKNOWN_KEY:
            self._answer(None, "não se sabe")
        elif question is not None and key == WRITE_KEY and QUESTIONS[question.field].written:
            self._note.value = ""
            self._writing.display = True
            self.set_focus(self._note)
        elif key == "u":
            undone = self._session.undo()
            self._message = "desfeito" if undone else "nada a desfazer nesta sessão"
            self._show()
        elif key in {"q", "ctrl+d"}:
            self.exit()
        else:
            self._scroll(key)

    async def _write(self, event: Key, key: str) -> None:
        match key:
            case "enter" | "ctrl+j":
                if text := on_one_line(self._note.value).strip():
                    self._close_writing()
                    self._answer(text, "queixa")
            case "escape" | "ctrl+d":
                self._close_writing()
            case _ if event.is_printable and event.character is not None:
                self._note.put(event.character)
            case _:
                await self._check_bindings(key)

    def _close_writing(self) -> None:
        self.set_focus(None)
        self._writing.display = False

    def _answer(self, value: Any, wording: str) -> None:
        self._session.answer(value)
        self._message = f"{wording}: salvo · u desfaz"
        self._show()

    def _scroll(self, key: str) -> None:
        match key:
            case "down":
                self._prompt.scroll_lines(1)
            case "up":
                self._prompt.scroll_lines(-1)
            case "pagedown" | " ":
                self._prompt.scroll_pages(1)
            case "pageup":
                self._prompt.scroll_pages(-1)

    def _show(self) -> None:
        """Show the prompt that is asked about now; one that is there already stays where it was scrolled to."""
        before, question = self._before, self._session.current
        self._before = question
        if question is None:
            self._prompt.show("Fim", Text(references_farewell(self._session)))
        elif before is None or before.prompt_id != question.prompt_id:
            self._prompt.show("Instrução com a avaliação", hostile_text(question.prompt))
        self.call_after_refresh(self._mark)

    def _mark(self) -> None:
        self._prompt.mark(chosen=True)

    def _draw(self) -> None:
        """Draw the lines around the prompt."""
        session, question = self._session, self._session.current
        done = session.total - session.left
        place = f" {min(done + 1, session.total)} de {session.total} · {question.task if question else 'fim'}"
        self._progress.update(Text(place))
        self._bar.update(total=session.total, progress=done)
        self._status.update(Text(f" {self._message}"))
        asked = None if question is None else QUESTIONS[question.field]
        self._asked.update(Text(f" {asked.text}" if asked else ""))
        writing = self._writing.display
        self._choices.update(key_line(asked.keys if asked and not writing else ()))
        keys: Sequence[tuple[str, str]] = KEYS if question else KEYS_AT_THE_END
        self._keys.update(key_line(KEYS_OF_WRITING if writing else keys))


def references_farewell(session: ReferenceSession) -> str:
    """Return a sentence on what was answered and what is left."""
    now = f"{session.answered_now} nesta sessão"
    if session.left:
        verb = "falta" if session.left == 1 else "faltam"
        return f"{verb} {session.left} de {session.total} respostas ({now}); o mesmo comando continua daqui"
    return f"pronto: nenhuma pergunta sem resposta em {session.file} ({now})"
