"""The labeller on a real terminal: every key does its one thing, nothing is lost, the terminal is left as it was."""

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
from tasks.audit.sheet import Row, as_row, read_rows, write_rows
from tests.flows.terminal import Terminal, terminal

COMMAND = """
import sys
from pathlib import Path
from flows.cli.label.app import label
from schemas.errors import TucanoError

try:
    label(Path(sys.argv[1]), *sys.argv[2:])
except TucanoError as error:
    print(f"tucano: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""
PASTE = "\x1b[200~{}\x1b[201~"
PACE = re.compile(r", \d+ s cada")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")

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
    def opened(*options: str, rater: str = "ana", **settings: object) -> Iterator[Terminal]:
        with terminal(COMMAND, str(sheet), rater, *options, **settings) as screen:  # type: ignore[arg-type]
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
        screen.press("\x7f\x7f\x7f\x1b[D\x1b[D\x1b[D\x1b[3~r\x1b[H¿\r")
        screen.wait_for("anotação: ¿à toa, arão", "q sai")
        screen.press("2")
        screen.wait_for("2 de 3")
        assert answers(sheet) == [("2", "¿à toa, arão"), ("", ""), ("", "")]
        screen.press("s")
        screen.wait_for("2 de 3", "terceira", "pulada, volta no fim", "1 pulada")
        screen.press("Q")
        code, said = screen.end()
        assert (code, PACE.sub("", said)) == (0, "faltam 2 de 3 (1 nesta sessão); o mesmo comando continua daqui")
        assert screen.is_restored
    first = read_rows(sheet)[0]
    assert (first["rater"], first["rater_kind"]) == ("ana", "human")
    with labelling() as screen:
        screen.wait_for("2 de 3", "segunda")
        screen.press("u")
        screen.wait_for("nada a desfazer nesta sessão")
        screen.press("q")
        assert screen.end()[0] == 0


def test_the_last_score_can_be_undone_and_then_all_is_told_in_a_line(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        for score, seen in zip("123", ("primeira", "segunda", "terceira"), strict=True):
            screen.wait_for(seen)
            screen.press(score)
        screen.wait_for("pronto: 3 respostas", "u desfaz a última nota")
        screen.press("u")
        screen.wait_for("3 de 3", "terceira")
        screen.press("4")
        screen.wait_for("pronto: 3 respostas")
        screen.press("x")
        code, said = screen.end()
        assert (code, PACE.sub("", said)) == (0, "pronto: 3 respostas com nota de ana (3 nesta sessão)")
    assert [score for score, _ in answers(sheet)] == ["1", "2", "4"]
    with labelling() as screen:
        assert screen.end() == (0, f"nada a pontuar: ana já deu nota a 3 respostas de {sheet}")


@pytest.mark.parametrize("stop", ["SIGTERM", "SIGINT", "Ctrl-C in a note"])
def test_an_interruption_restores_the_terminal_and_loses_nothing(labelling: Labelling, sheet: Path, stop: str) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press("4")
        screen.wait_for("segunda")
        screen.press("nmeia anot")
        screen.wait_for("meia anot")
        if stop == "Ctrl-C in a note":
            screen.press("\x03")
        else:
            screen.signal(signal.Signals[stop])
        code, said = screen.end()
        assert code == 4
        assert (
            said
            == "tucano: interrupted; 2 of 3 completions are left, every score is saved, and the same command goes on"
        )
        assert screen.is_restored
    assert [score for score, _ in answers(sheet)] == ["4", "", ""]


def test_the_end_of_the_input_is_leaving(labelling: Labelling) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press("\x04")
        assert screen.end() == (0, "faltam 3 de 3 (0 nesta sessão); o mesmo comando continua daqui")
        assert screen.is_restored


def test_a_note_without_a_score_is_not_lost_by_one_key(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press("nquase\r")
        screen.wait_for("anotação: quase", "q sai")
        screen.press("sq")
        screen.wait_for("1 anotação sem nota se perde ao sair: dê a nota, ou q de novo")
        screen.press("5q")
        screen.wait_for("terceira", "1 anotação sem nota se perde")
        screen.press("q")
        code, said = screen.end()
        assert (code, said.split(" (")[0]) == (0, "faltam 2 de 3")


def test_nothing_that_is_pasted_is_a_score(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press(PASTE.format("1\n2\nq"))
        screen.press("n" + PASTE.format("duas\r\n5 linhas\n") + "\r")
        screen.wait_for("anotação: duas 5 linhas", "q sai")
        # Alt with a digit, a key that sends digits, and one whose rest is lost.
        for keys in ("\x1b5", "\x1b\x1b[15~", "\x1b[1;5C"):
            screen.press(keys)
        screen.press("3")
        screen.wait_for("2 de 3", "segunda")
        screen.press("q")
        screen.end()
    assert answers(sheet) == [("3", "duas 5 linhas"), ("", ""), ("", "")]


def test_a_note_is_given_up_with_escape(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        screen.press("nnão")
        screen.wait_for("anotação: não")
        screen.press("\x1b")
        screen.wait_for("tarefa push", "q sai")
        screen.press("1")
        screen.wait_for("segunda")
        screen.press("q")
        screen.end()
    assert answers(sheet)[0] == ("1", "")


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
        for sign in ("\x9b", "\u202e", "\x9d", "\x07", "\x85", "\u2028", "\x1b]", "\x1b[2J"):
            assert sign not in screen.written


def test_a_long_completion_scrolls_and_the_keys_stay_in_sight(labelling: Labelling, sheet: Path) -> None:
    lines = [f"linha {number} fim" for number in range(60)]
    text = "\n".join(lines)
    write(sheet, Rollout(prompt_id="1", task="push", prompt=text.replace("linha", "pergunta"), completion=text))
    with labelling() as screen:
        seen = screen.wait_for("linha 0 fim", "pergunta 0 fim", "↓", "Tab")
        assert "linha 59 fim" not in seen
        screen.press("\x1b[B")
        assert "linha 0 fim" not in screen.wait_for("linha 1 fim", "↑ 1 ↓")
        screen.press(" ")
        assert "linha 1 fim" not in screen.wait_for("linha 12 fim", "pergunta 0 fim")
        screen.press("\x1b[F")
        screen.wait_for("linha 59 fim")
        screen.press("\t\x1b[6~")
        assert "pergunta 0 fim" not in screen.wait_for("linha 59 fim", "pergunta 6 fim")
        screen.press("\x1b[5~")
        screen.wait_for("linha 59 fim", "pergunta 0 fim")
        screen.press("?")
        seen = screen.wait_for("Rubrica", "notificação de uma campanha", "? volta à resposta")
        assert "linha 59 fim" not in seen
        screen.press("?")
        screen.wait_for("linha 59 fim")
        screen.resize((140, 50))
        screen.wait_for("pergunta 40 fim", "linha 59 fim", "linha 20 fim")
        screen.press("q")
        screen.end()
        for frame in screen.frames[2:-1]:
            drawn = frame.split("\n")
            assert len(drawn) in {24, 50}
            assert "q sai" in drawn[-1]


def test_nothing_is_shown_that_could_sway(labelling: Labelling, sheet: Path) -> None:
    rows: list[Row] = [
        {**row, "human_score": "1", "rater": "bia", "rater_kind": "human", "notes": "péssima"}
        for row in read_rows(sheet)
    ]
    write_rows(sheet, rows)
    with labelling() as screen:
        for seen in ("primeira", "segunda", "terceira"):
            screen.wait_for(seen)
            screen.press("5")
        screen.wait_for("pronto")
        screen.press("q")
        screen.end()
        for secret in ("decil-10", "bia", "péssima"):
            assert secret not in screen.written
    assert len(read_rows(sheet)) == 6


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
    with labelling("churn") as screen:
        assert "de push" not in screen.wait_for("1 de 1 · churn", "de churn")
        screen.press("q")
        assert screen.end()[0] == 0


def test_a_sheet_that_goes_away_is_one_sentence(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        sheet.unlink()
        screen.press("5")
        code, said = screen.end()
        assert code == 2
        assert said.startswith("tucano: ")
        assert f"sheet {sheet}" in said.replace("\r\n", "")
        assert "Traceback" not in screen.written
        assert screen.is_restored


def test_a_sheet_that_cannot_be_written_is_one_sentence(labelling: Labelling, sheet: Path) -> None:
    with labelling() as screen:
        screen.wait_for("primeira")
        sheet.with_name(f".{sheet.name}.lock").mkdir()
        screen.press("5")
        code, said = screen.end()
        assert (code, "cannot be written" in said.replace("\r\n", "")) == (2, True)
        assert "Traceback" not in screen.written
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
