"""Command `tucano audit label`: score a sheet's completions with the keys of a terminal."""

import os
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from flows.cli.label.keys import Key, Keys, keys_of
from flows.cli.label.screen import LabelScreen
from flows.cli.label.typed_line import TypedLine, on_one_line
from flows.runtime.console import say
from flows.runtime.signals import interruptible
from schemas.errors import InputError, Interrupted
from schemas.tasks import TaskName
from tasks.audit.labelling import Labelling, Shown
from tasks.audit.rubrics import general_rubric, task_rubric
from tasks.audit.sheet import MOST_CHARACTERS

SECONDS_TO_UNDO_THE_LAST: Final = 15.0


def label(sheet: Path, rater: str, task: TaskName | None = None) -> None:
    """Let a person score a sheet until all is scored or the person leaves; each score is saved at once.

    Args:
        sheet: The sheet's file; others may score in it at the same time.
        rater: The person's pseudonym.
        task: The only task to score; None for all.

    Raises:
        InputError: There is no terminal, the pseudonym is invalid, or the sheet cannot be read or written.
        Interrupted: Ctrl-C or SIGTERM; every score is saved, and the same command resumes.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise InputError(
            "label needs a terminal that shows it and gives it keys; run it in one, or open the sheet "
            f"{sheet} in a spreadsheet and fill human_score, rater, rater_kind and notes"
        )
    with interruptible("interrupted; every score is saved, and the same command goes on"):
        labelling = Labelling(sheet, rater, task)
        if labelling.current is None:
            say(f"nada a pontuar: {rater} já deu nota a {_answers(labelling.total)} de {sheet}")
            return
        try:
            _score(labelling)
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted; {labelling.left} of {labelling.total} completions are left, every score is saved"
                f"{_notes_lost(labelling)}, and the same command goes on"
            ) from None
    say(_farewell(labelling))


def _score(labelling: Labelling) -> None:
    console = Console(stderr=True, force_terminal=True, highlight=False)
    screen = LabelScreen(console)
    with screen.shown(), keys_of(sys.stdin.fileno(), console.file) as keys:
        _Session(labelling, screen, keys).run()


class _Session:
    """The actions of the keys."""

    def __init__(self, labelling: Labelling, screen: LabelScreen, keys: Keys) -> None:
        self._labelling = labelling
        self._screen = screen
        self._keys = keys
        self._shown: Shown | None = None
        self._warned = False
        self._over = False

    def run(self) -> None:
        """Show completions and act on keys until nothing is left or the rater leaves."""
        self._show()
        while not self._over:
            self._screen.draw(self._labelling, self._keys.size)
            if self._labelling.current is None:
                self._press_at_the_end(self._keys.read(SECONDS_TO_UNDO_THE_LAST))
            else:
                self._press(self._keys.read())

    def _press(self, key: Key) -> None:
        warned, self._warned = self._warned, False
        match key.text.lower() if key.name == "text" else key.name:
            case "1" | "2" | "3" | "4" | "5":
                self._give(int(key.text))
            case "u":
                self._undo()
            case "s":
                self._labelling.skip()
                self._show("pulada, volta no fim · u desfaz")
            case "n":
                self._note()
            case "?":
                self._turn_rubric()
            case "q":
                self._leave(warned)
            case "end of input":
                self._over = True
            case _:
                self._scroll(key)

    def _press_at_the_end(self, key: Key) -> None:
        if key.name == "text" and key.text.lower() == "u":
            self._undo()
        elif key.name != "resized":
            self._over = True

    def _give(self, score: int) -> None:
        self._labelling.score(score)
        self._show(f"nota {score} salva · u desfaz")

    def _undo(self) -> None:
        if self._labelling.undo():
            self._show("desfeito")
        else:
            self._screen.message = "nada a desfazer nesta sessão"

    def _note(self) -> None:
        # A note from a spreadsheet may have several lines, and control characters.
        text = on_one_line(self._labelling.note)
        line = TypedLine(text, len(text), MOST_CHARACTERS)
        while True:
            self._screen.draw(self._labelling, self._keys.size, line)
            key = self._keys.read()
            if key.name == "enter":
                self._labelling.write_note(line.text.strip())
            if key.name in {"enter", "escape", "end of input"}:
                return
            line = line.after(key)

    def _turn_rubric(self) -> None:
        shown = self._labelling.current
        if shown is None or self._screen.rubric_is_shown:
            self._screen.hide_rubric()
        else:
            self._screen.show_rubric(f"{task_rubric(shown.task)}\n{general_rubric()}")

    def _leave(self, warned: bool) -> None:
        notes = self._labelling.notes_without_score
        self._over = warned or not notes
        self._warned = True
        self._screen.message = (
            f"{_notes(notes)} sem nota {'se perde' if notes == 1 else 'se perdem'} ao sair: dê a nota, ou q de novo"
        )

    def _scroll(self, key: Key) -> None:
        pane = self._screen.scrolling
        match "page down" if key.text == " " else key.name:
            case "down":
                pane.scroll(1)
            case "up":
                pane.scroll(-1)
            case "page down":
                pane.scroll_pages(1)
            case "page up":
                pane.scroll_pages(-1)
            case "home":
                pane.scroll(-MOST_CHARACTERS)
            case "end":
                pane.scroll(MOST_CHARACTERS)
            case "tab":
                self._screen.choose_other()
            case "escape":
                self._screen.hide_rubric()

    def _show(self, message: str = "") -> None:
        """Show the completion to score now."""
        before, shown = self._shown, self._labelling.current
        self._shown = shown
        self._screen.message = message
        if shown is None:
            self._screen.show_end(_farewell(self._labelling))
            return
        if before is None or before.task != shown.task:
            self._screen.message = f"{message + ' · ' if message else ''}tarefa {shown.task}: ? mostra a rubrica"
        self._screen.show(shown, same_prompt=before is not None and before.prompt == shown.prompt)


def _farewell(labelling: Labelling) -> str:
    pace = f", {labelling.seconds_each:.0f} s cada" if labelling.seconds_each is not None else ""
    now = f"{labelling.scored_now} nesta sessão{pace}"
    if labelling.left:
        verb = "falta" if labelling.left == 1 else "faltam"
        return f"{verb} {labelling.left} de {labelling.total} ({now}); o mesmo comando continua daqui"
    return f"pronto: {_answers(labelling.total)} com nota de {labelling.rater} ({now})"


def _answers(count: int) -> str:
    return "1 resposta" if count == 1 else f"{count} respostas"


def _notes(count: int) -> str:
    return "1 anotação" if count == 1 else f"{count} anotações"


def _notes_lost(labelling: Labelling) -> str:
    notes = labelling.notes_without_score
    return f" but {notes} {'note' if notes == 1 else 'notes'} without one" if notes else ""
