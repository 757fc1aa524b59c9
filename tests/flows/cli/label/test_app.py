"""The command on a real terminal: every key does its one thing, nothing is lost, the terminal is left as it was."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from flows.cli.label.app import label
from schemas.documents import Rollout
from schemas.errors import InputError
from tasks.audit.sheet import as_row, read_rows, write_rows
from tests.flows.terminal import Terminal, terminal

COMMAND = """
import sys
from flows.cli import main

sys.argv = ["tucano", "audit", "label", sys.argv[1], "--rater", *sys.argv[2:]]
main()
"""
DEAF = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
PASTE = "\x1b[200~{}\x1b[201~"
PACE = re.compile(r", \d+ s cada")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")

pytestmark = pytest.mark.integration

Labelling = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sheet.csv"
    completions = ["primeira", "segunda", "terceira"]
    write(path, *(Rollout(prompt_id="1", task="push", prompt="pedido", completion=text) for text in completions))
    return path


@pytest.fixture
def labelling(sheet: Path) -> Labelling:
    @contextmanager
    def opened(*options: str, code: str = COMMAND, **settings: object) -> Iterator[Terminal]:
        with terminal(code, str(sheet), "ana", *options, **settings) as screen:  # type: ignore[arg-type]
            yield screen

    return opened


def write(sheet: Path, *rollouts: Rollout) -> None:
    write_rows(sheet, [as_row(rollout, "decil-10") for rollout in rollouts])


def answers(sheet: Path) -> list[tuple[str, str]]:
    return [(row["human_score"], row["notes"]) for row in read_rows(sheet)]


def test_scores_undo_notes_and_leaving(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("1 de 3 · push", "primeira", "Resposta, 8 caracteres", "tarefa push: ? mostra a rubrica")
        screen.press("5")
        screen.wait_for("2 de 3 · push · ", "segunda", "nota 5 salva", "Instrução, a mesma de antes")
        assert answers(sheet) == [("5", ""), ("", ""), ("", "")]
        screen.press("u")
        screen.wait_for("1 de 3 · push", "primeira", "desfeito")
        assert answers(sheet) == [("", "")] * 3
        screen.press("nà toa, açãou?5")
        screen.wait_for("anotação: à toa, açãou?5", "Enter salva a anotação")
        # In one write, and acted on in the order in which they were typed.
        screen.press("\x7f\x7f\x7f\x1b[D\x1b[D\x1b[D\x1b[3~r\x1b[H¿\r2s")
        screen.wait_for("2 de 3", "terceira", "pulada, volta no fim", "1 pulada")
        assert answers(sheet) == [("2", "¿à toa, arão"), ("", ""), ("", "")]
        screen.press("Q5")
        code, said = screen.end()
        assert (code, PACE.sub("", said)) == (0, "faltam 2 de 3 (1 nesta sessão); o mesmo comando continua daqui")
        assert screen.is_restored
    assert answers(sheet)[1:] == [("", ""), ("", "")]
    first = read_rows(sheet)[0]
    assert (first["rater"], first["rater_kind"]) == ("ana", "human")
    with labelling() as screen:
        screen.wait_for("2 de 3", "segunda")
        screen.press("3")
        screen.wait_for("terceira")
        screen.press("1")
        screen.wait_for("pronto: 3 respostas", "u desfaz a última nota")
        screen.press("x")
        code, said = screen.end()
        assert (code, PACE.sub("", said)) == (0, "pronto: 3 respostas com nota de ana (2 nesta sessão)")
    with labelling() as screen:
        assert screen.end() == (0, f"nada a pontuar: ana já deu nota a 3 respostas de {sheet}")


@pytest.mark.parametrize("stop", ["SIGTERM", "SIGINT", "Ctrl-C in a note"])
def test_an_interruption_restores_the_terminal_and_loses_nothing(labelling: Labelling, sheet: Path, stop: str) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press("4")
        screen.wait_for("segunda")
        screen.press("nmeia\rnmeia anot")
        screen.wait_for("meia anot")
        if stop == "Ctrl-C in a note":
            screen.press("\x03")
        else:
            screen.signal(signal.Signals[stop])
        code, said = screen.end()
        assert code == 4
        assert said == (
            "tucano: interrupted; 2 of 3 completions are left, every score is saved but 1 note without one, and the "
            "same command resumes"
        )
        assert screen.is_restored
    assert [score for score, _ in answers(sheet)] == ["4", "", ""]


def test_the_end_of_the_input_is_leaving(labelling: Labelling) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press("\x04")
        assert screen.end() == (0, "faltam 3 de 3 (0 nesta sessão); o mesmo comando continua daqui")
        assert screen.is_restored


@pytest.mark.parametrize("code", [COMMAND, DEAF + COMMAND])
def test_a_terminal_that_hangs_up_ends_it(labelling: Labelling, sheet: Path, code: str) -> None:
    with labelling(code=code) as screen:
        screen.wait_for("primeira")
        screen.press("4")
        screen.wait_for("segunda")
        screen.hang_up()
        assert (screen.process.wait(30) == -signal.SIGHUP) is (code == COMMAND)
    assert answers(sheet) == [("4", ""), ("", ""), ("", "")]


def test_no_rest_of_a_sequence_is_a_score(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press(PASTE.format("1\n2\x1b5\x1b[4mq"))
        screen.pause(0.3)
        # Alt with a digit, keys that send digits, one whose rest is late or lost, and a letter in Latin-1.
        for keys in (b"\x1b5", b"\x1b\x1b[15~", b"\x1b[1;5C", b"\x1b[5", b"\xe9"):
            screen.send(keys)
            screen.pause(0.3)
        assert answers(sheet) == [("", "")] * 3
        screen.press("n" + PASTE.format("duas\r\n5 linhas\n"))
        for byte in " ã".encode():
            screen.send(bytes([byte]))
            screen.pause(0.3)
        screen.press("\r3")
        screen.wait_for("2 de 3", "segunda")
        screen.press("q")
        assert screen.end()[0] == 0
    assert answers(sheet) == [("3", "duas 5 linhas ã"), ("", ""), ("", "")]


def test_keys_before_the_screen_and_keys_of_the_shell_are_none(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.press("5\n1\n")
        screen.wait_for("primeira")
        # They would stop the process, and leave the shell with the settings of the screen.
        screen.press("\x1a\x1c\x11\x13")
        screen.press("s")
        screen.wait_for("segunda")
        screen.press("q")
        assert screen.end()[0] == 0
    assert answers(sheet) == [("", "")] * 3


def test_hostile_text_does_not_reach_the_terminal(labelling: Labelling, sheet: Path) -> None:
    attack = "\x9b31mA \u202eesrever \x9d0;title\x07 [bold red]B[/bold red] [link=x]C[/link] :smile: \x85\u2028fim"
    write(sheet, Rollout(prompt_id="1", task="push", prompt=f"pedido {attack}", completion=f"resposta {attack}"))
    text = sheet.read_bytes().decode("utf-8-sig")
    sheet.write_text(text.replace("\ufffd", "\x1b]0;owned\x07\x1b[2J"), encoding="utf-8-sig")
    with labelling(size=(118, 24)) as screen:
        seen = screen.wait_for("resposta", "[bold red]B[/bold red] [link=x]C[/link] :smile:")
        assert r"\x9b31mA \u202eesrever \x9d0;title" in seen
        assert r"\x85\u2028fim" in seen
        screen.press("q")
        screen.end()
        # Textual itself sets the pointer's shape.
        written = re.sub("\x1b]22;[a-z]+\x07", "", screen.written)
        for sign in ("\x9b", "\u202e", "\x9d", "\x07", "\x85", "\u2028", "\x1b]", "\x1b[2J"):
            assert sign not in written


def test_a_long_completion_scrolls_and_the_keys_stay_in_sight(labelling: Labelling, sheet: Path) -> None:
    text = "\n".join(f"linha {number} fim" for number in range(60))
    write(sheet, Rollout(prompt_id="1", task="push", prompt=text.replace("linha", "pergunta"), completion=text))
    with labelling(environment={"COLUMNS": "60", "LINES": "10"}) as screen:
        seen = [screen.wait_for("linha 0 fim", "pergunta 0 fim", "↓", "Tab", "q sai")]
        assert "linha 59 fim" not in seen[0]
        screen.press("\x1b[B\x1b[B")
        screen.wait_for("linha 2 fim", "↑ 2 ↓")
        screen.press("\x1b[F")
        seen.append(screen.wait_for("linha 59 fim", "↑"))
        screen.press("\t\x1b[6~")
        seen.append(screen.wait_for("linha 59 fim", "pergunta 6 fim"))
        assert "pergunta 0 fim" not in seen[-1]
        screen.resize((140, 50))
        seen.append(screen.wait_for("pergunta 40 fim", "linha 59 fim", "linha 20 fim", "q sai"))
        for text, lines in zip(seen, (24, 24, 24, 50), strict=True):
            assert len(text.split("\n")) == lines
            assert "q sai" in text.split("\n")[-1]
        screen.press("q")
        screen.end()


def test_colours_are_left_out_where_nobody_wants_them(labelling: Labelling) -> None:
    for environment, coloured in (({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
        with labelling(environment=environment) as screen:
            screen.wait_for("primeira")
            screen.press("q")
            screen.end()
            assert bool(COLOUR.search(screen.written)) is coloured


def test_only_one_task_is_scored_where_one_is_named(labelling: Labelling, sheet: Path) -> None:
    tasks = ("push", "churn")
    write(sheet, *(Rollout(prompt_id="1", task=task, prompt="p", completion=f"de {task}") for task in tasks))
    with labelling("--task", "churn") as screen:
        assert "de push" not in screen.wait_for("1 de 1 · churn", "de churn")
        screen.press("q")
        assert screen.end()[0] == 0


def test_a_sheet_that_cannot_be_written_is_one_sentence(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        sheet.with_name(f".{sheet.name}.lock").mkdir()
        screen.press("5")
        code, said = screen.end()
        assert code == 2
        assert said.startswith(f"tucano: sheet {sheet} cannot be written")
        assert "Traceback" not in screen.written
        assert screen.is_restored


def test_a_mistake_of_ours_ends_it_with_a_traceback(labelling: Labelling) -> None:
    broken = "from tasks.audit.labelling import Labelling\nLabelling.skip = lambda self: 1 / 0\n"
    with labelling(code=broken + COMMAND) as screen:
        screen.wait_for("primeira")
        screen.press("s")
        code, said = screen.end()
        assert (code, "ZeroDivisionError" in said) == (1, True)
        assert screen.is_restored


def test_without_a_terminal_the_spreadsheet_is_named(sheet: Path) -> None:
    with pytest.raises(
        InputError, match=r"needs a terminal .*sheet .*sheet\.csv in a spreadsheet and fill human_score"
    ):
        label(sheet, "ana")
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, str(sheet), "ana"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert json.dumps(ended.stderr.decode()).count("\\n") == 1


def test_a_terminal_that_cannot_be_drawn_on_is_none(labelling: Labelling) -> None:
    with labelling(environment={"TERM": "dumb"}) as screen:
        code, said = screen.end()
        assert (code, "needs a terminal" in said) == (2, True)


def test_other_commands_do_not_import_textual() -> None:
    code = "import sys, flows.cli, flows.cli.audit; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
