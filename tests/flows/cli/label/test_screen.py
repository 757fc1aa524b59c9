"""The screen shows everything at any size and for any text, and each key does its one thing, in textual's own pilot."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.events import Key, Paste
from textual.pilot import Pilot

from flows.cli.label import screen as label_screen
from flows.cli.label.screen import KEYS, SCALE, LabelApp, farewell, minutes
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.audit.labelling import Labelling
from tasks.audit.sheet import Row, as_row, read_rows, write_rows

pytestmark = pytest.mark.slow

LONG = "\n".join(f"linha {number}." for number in range(60))
SIZE = (80, 24)
Step = str | Paste | tuple[int, int]


class Played:
    """A session that was played: what was seen after each step, and how it ended."""

    def __init__(self, sheet: Path, *steps: Step, size: tuple[int, int] = SIZE) -> None:
        self.app = LabelApp(Labelling(sheet, "ana"))
        self.screens: list[str] = []
        asyncio.run(self._play(steps, size))

    @property
    def last(self) -> str:
        """What stood there in the end."""
        return self.screens[-1]

    @property
    def left(self) -> bool:
        """Whether the rater left."""
        return self.app._exit

    async def _play(self, steps: tuple[Step, ...], size: tuple[int, int]) -> None:
        async with self.app.run_test(size=size) as pilot:
            await self._see(pilot)
            for step in steps:
                if isinstance(step, tuple):
                    await pilot.resize_terminal(*step)
                elif isinstance(step, Paste):
                    self.app.post_message(step)
                else:
                    await pilot.press(*step.split())
                if self.left:
                    return
                await self._see(pilot)

    async def _see(self, pilot: Pilot[None]) -> None:
        await pilot.pause()
        strips = self.app.screen._compositor.render_strips()
        self.screens.append("\n".join(strip.text for strip in strips))


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return new_sheet(tmp_path, "primeira", "segunda", "terceira")


def new_sheet(folder: Path, *completions: str, prompt: str = "pedido", task: str = "push") -> Path:
    path = folder / "sheet.csv"
    rollouts = (Rollout(prompt_id="1", task=task, prompt=prompt, completion=text) for text in completions)
    write_rows(path, [as_row(rollout, "decil-10") for rollout in rollouts])
    return path


def scores(sheet: Path) -> list[tuple[str, str]]:
    return [(row["human_score"], row["notes"]) for row in read_rows(sheet)]


def typed(text: str) -> str:
    names = {" ": "space", "?": "question_mark", ",": "comma"}
    return " ".join(names.get(sign, sign) for sign in text)


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.tuples(st.integers(20, 200), st.integers(8, 60)),
    st.text(max_size=300),
    st.text(st.characters(codec="utf-8") | st.just("\n"), max_size=3000),
    st.text(st.sampled_from("ação 漢😀"), max_size=40),
)
def test_every_line_fits_and_none_is_lacking(
    tmp_path: Path, size: tuple[int, int], prompt: str, completion: str, note: str
) -> None:
    sheet = new_sheet(tmp_path, completion or " ", prompt=prompt or " ")
    for seen in Played(sheet, "space tab", "n", Paste(note), size=size).screens:
        lines = seen.split("\n")
        assert len(lines) == size[1]
        assert {cell_len(line) for line in lines} == {size[0]}


@pytest.mark.parametrize(("size", "gap"), [((80, 24), " "), ((81, 25), ""), ((120, 30), "")])
def test_all_of_a_long_text_can_be_reached(tmp_path: Path, size: tuple[int, int], gap: str) -> None:
    words = [f"w{number}." for number in range(600)]
    played = Played(new_sheet(tmp_path, gap.join(words), prompt="pedido curto"), *["space"] * 12, size=size)
    assert all("pedido curto" in seen for seen in played.screens)
    inside = [line.strip("│ ") for seen in played.screens for line in seen.split("\n")]
    text = gap.join(inside)
    assert [word for word in words if word not in text] == []


def test_a_text_is_wrapped_again_where_the_terminal_becomes_narrower(tmp_path: Path) -> None:
    words = [f"w{number}." for number in range(60)]
    for seen in Played(new_sheet(tmp_path, " ".join(words)), (40, 30), (130, 30), size=(110, 30)).screens:
        assert [word for word in words if word not in seen] == []


def test_the_only_text_that_does_not_fit_scrolls_at_once(tmp_path: Path) -> None:
    for prompt, completion in ((LONG, "curta"), ("curto", LONG)):
        played = Played(new_sheet(tmp_path, completion, prompt=prompt), "space space")
        assert "linha 40." not in played.screens[0]
        assert "linha 40." in played.last
        assert "Tab" not in played.last


def test_each_of_two_long_texts_scrolls(tmp_path: Path) -> None:
    prompt = LONG.replace("linha", "pergunta")
    played = Played(
        new_sheet(tmp_path, LONG, prompt=prompt), "down", "space", "end", "tab pagedown", "pageup", "home", "up"
    )
    first, down, space, end, prompt_down, prompt_up, *_ = played.screens
    assert "linha 0." in first
    assert "pergunta 0." in first
    assert "Tab ↓" in first
    assert "linha 0." not in down
    assert "↑ 1 ↓" in down
    assert "linha 1." not in space
    assert "linha 11." in space
    assert "linha 59." in end
    assert "pergunta 0." not in prompt_down
    assert "linha 59." in prompt_down
    assert "pergunta 0." in prompt_up
    assert played.last == prompt_up


def test_the_rubric_covers_the_texts_and_leaves_them_where_they_were(tmp_path: Path) -> None:
    played = Played(new_sheet(tmp_path, LONG), "end", "question_mark", "space", "escape", "question_mark", "2")
    _, end, rubric, further, back, _, scored = played.screens
    assert "notificação de uma campanha" in rubric
    assert "? volta à resposta" in rubric
    assert "linha 59." not in rubric
    assert "notificação de uma campanha" not in further
    assert back == end
    assert "pronto: 1 resposta" in scored
    assert "Rubrica" not in scored


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_anchors_of_a_task_are_seen_without_scrolling(tmp_path: Path, task: str) -> None:
    seen = Played(new_sheet(tmp_path, "c", task=task), "question_mark", size=(100, 30)).last
    assert all(f"│  {score} " in seen for score in range(1, 6))


def test_the_keys_and_the_scale_fit_eighty_columns(sheet: Path) -> None:
    for seen in Played(sheet, "s").screens:
        *_, scale, keys = seen.split("\n")
        assert scale.split() == " ".join(f"{key} {meaning}" for key, meaning in SCALE).split()
        assert keys.split() == " ".join(f"{key} {meaning}" for key, meaning in KEYS).split()


def test_an_empty_completion_is_named(tmp_path: Path) -> None:
    seen = Played(new_sheet(tmp_path, " \n ")).last
    assert "(resposta vazia)" in seen
    assert "0 caracteres" in seen


def test_markup_is_text(tmp_path: Path) -> None:
    attack = "[bold red]B[/bold red] [link=x]C[/link] [@click=app.bell]D[/] :smile:"
    sheet = new_sheet(tmp_path, f"resposta {attack}", prompt=f"pedido {attack}")
    played = Played(sheet, "n", Paste(attack), "enter", size=(118, 24))
    assert [played.last.count(attack), played.screens[2].count(attack)] == [3, 3]


def test_a_score_is_saved_at_once_and_undone(sheet: Path) -> None:
    played = Played(sheet, "5", "u", "u", "2 s 4", "u U")
    assert "1 de 3 · push " in played.screens[0]
    assert "tarefa push: ? mostra a rubrica" in played.screens[0]
    assert "2 de 3 · push · " in played.screens[1]
    assert "nota 5 salva · u desfaz" in played.screens[1]
    assert "Instrução, a mesma de antes" in played.screens[1]
    assert "desfeito" in played.screens[2]
    assert "nada a desfazer nesta sessão" in played.screens[3]
    assert "3 de 3" in played.screens[4]
    assert "1 pulada" in played.screens[4]
    assert "segunda" in played.last
    assert scores(sheet) == [("2", ""), ("", ""), ("", "")]


def test_the_last_score_can_be_undone_and_any_other_key_leaves(sheet: Path) -> None:
    played = Played(sheet, "1 2 3", "u", "4", "x")
    assert "pronto: 3 respostas com nota de ana" in played.screens[1]
    assert "u desfaz a última nota" in played.screens[1]
    assert "1 não serve" not in played.screens[1]
    assert "terceira" in played.screens[2]
    assert played.left
    assert [score for score, _ in scores(sheet)] == ["1", "2", "4"]


def test_the_end_passes_by_itself(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> bool:
        app = LabelApp(Labelling(sheet, "ana"))
        async with app.run_test() as pilot:
            await pilot.press("1", "1", "1", "u", "1")
            for _ in range(100):
                if app._exit:
                    return True
                await asyncio.sleep(0.1)
        return False

    monkeypatch.setattr(label_screen, "SECONDS_TO_UNDO_THE_LAST", 0.3)
    assert asyncio.run(play())


def test_a_note_is_typed_and_saved_with_its_score(sheet: Path) -> None:
    keys = f"n {typed('à toa, açãou?5')} backspace backspace backspace left left left delete r home É"
    played = Played(sheet, keys, "enter", "2", "n q escape")
    assert "anotação: Éà toa, arão" in played.screens[1]
    assert "Enter salva a anotação" in played.screens[1]
    assert "1 não serve" not in played.screens[1]
    assert "anotação: Éà toa, arão" in played.screens[2]
    assert "q sai" in played.screens[2]
    assert "nota 2 salva" in played.last
    assert scores(sheet)[:2] == [("2", "Éà toa, arão"), ("", "")]


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        (["b c home a end d"], "abcd"),
        (["a b c home delete backspace left"], "bc"),
        (["a b c ctrl+u d"], "d"),
        (["a", Paste("b\r\n\tc\x1b[A\u202e"), "d"], "ab c[Ad"),
        ([Paste("cafe"), Paste("\u0301"), "s"], "cafés"),
        ([Paste("a" * 32_000), "b", Paste("bc")], "a" * 32_000),
        (["a up tab pagedown f1 ctrl+z b"], "ab"),
    ],
)
def test_a_note_stays_one_line(sheet: Path, steps: list[Step], note: str) -> None:
    Played(sheet, "n", *steps, "ctrl+j 3")
    assert scores(sheet)[0] == ("3", note)


def test_a_note_from_a_spreadsheet_is_edited_on_one_line(sheet: Path) -> None:
    rows: list[Row] = [{**row, "rater": "ana", "notes": "já\r\nvi"} for row in read_rows(sheet)]
    write_rows(sheet, rows)
    played = Played(sheet, "n", "ctrl+d n ! enter 1")
    assert "anotação: já vi " in played.screens[0]
    assert scores(sheet)[0] == ("1", "já vi!")


def test_a_note_without_a_score_is_not_lost_by_one_key(sheet: Path) -> None:
    warning = "1 anotação sem nota se perde ao sair: dê a nota, ou q de novo"
    played = Played(sheet, "n q u a s e enter", "q", "s", "q", "5 q", "q")
    assert warning in played.screens[2]
    assert "anotação: quase" in played.screens[1]
    assert warning in played.screens[4]
    assert warning in played.screens[5]
    assert played.left


def test_leaving_without_a_note_warns_of_none(sheet: Path) -> None:
    played = Played(sheet, "q")
    assert played.left
    assert "ao sair" not in played.app._message


def test_what_is_pasted_is_no_key(sheet: Path) -> None:
    played = Played(sheet, Paste("1\n2\nq"), Paste("5"))
    assert not played.left
    assert scores(sheet) == [("", "")] * 3


def test_the_characters_of_an_unknown_sequence_are_no_scores(sheet: Path) -> None:
    async def play() -> None:
        app = LabelApp(Labelling(sheet, "ana"))
        async with app.run_test() as pilot:
            for begin in ("circumflex_accent", "left_square_bracket", "right_square_bracket"):
                for name, sign in ((begin, "["), ("1", "1"), ("5", "5")):
                    app.post_message(Key(name, sign))
                await asyncio.sleep(0.1)
            app.post_message(Key("alt+4", "4"))
            await pilot.press("ctrl+q", "ctrl+z", "ctrl+p", "f1", "3")

    asyncio.run(play())
    assert scores(sheet) == [("3", ""), ("", ""), ("", "")]


@pytest.mark.parametrize("keys", ["ctrl+d", "Q", "n a enter 2 q"])
def test_a_rater_leaves(sheet: Path, keys: str) -> None:
    played = Played(sheet, keys)
    assert played.left
    assert not played.app.interrupted


def test_ctrl_c_interrupts_in_a_note_too(sheet: Path) -> None:
    for keys in ("ctrl+c", "n a ctrl+c"):
        assert Played(sheet, keys).app.interrupted


def test_a_sheet_that_goes_away_ends_it_with_the_reason(sheet: Path) -> None:
    app = LabelApp(Labelling(sheet, "ana"))

    async def play() -> None:
        async with app.run_test() as pilot:
            sheet.unlink()
            await pilot.press("5")

    asyncio.run(play())
    assert isinstance(app.failure, InputError)
    assert str(sheet) in str(app.failure)


def test_nothing_is_shown_that_could_sway(sheet: Path) -> None:
    rows: list[Row] = [
        {**row, "human_score": "1", "rater": "bia", "rater_kind": "human", "notes": "péssima"}
        for row in read_rows(sheet)
    ]
    write_rows(sheet, rows)
    screens = Played(sheet, "5", "question_mark", "5", "5").screens
    assert "pronto" in screens[-1]
    for secret in ("decil-10", "bia", "péssima"):
        assert all(secret not in seen for seen in screens)
    assert len(read_rows(sheet)) == 6


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "menos de 1 min"),
        (40, "cerca de 1 min"),
        (360, "cerca de 6 min"),
        (3600, "cerca de 1 h 00 min"),
        (5000, "cerca de 1 h 23 min"),
    ],
)
def test_the_time_to_go_is_said_in_words(seconds: float, words: str) -> None:
    assert minutes(seconds) == words


def test_one_that_is_left_is_singular(tmp_path: Path) -> None:
    assert farewell(Labelling(new_sheet(tmp_path, "c"), "ana")).startswith("falta 1 de 1 (0 nesta sessão); ")
