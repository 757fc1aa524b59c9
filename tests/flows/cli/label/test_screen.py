"""What is drawn fills the terminal exactly, whatever its size and whatever the text, and the keys stay in sight."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from flows.cli.label.screen import KEYS, SCALE, LabelScreen, minutes
from flows.cli.label.typed_line import TypedLine
from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES
from tasks.audit.labelling import Labelling, Shown
from tasks.audit.rubrics import general_rubric, task_rubric
from tasks.audit.sheet import as_row, write_rows
from tests.flows.terminal import COMMAND


@pytest.fixture(scope="module")
def labelling(tmp_path_factory: pytest.TempPathFactory) -> Labelling:
    sheet = tmp_path_factory.mktemp("sheet") / "sheet.csv"
    rollouts = [Rollout(prompt_id="1", task="push", prompt="p", completion=f"resposta {place}") for place in range(44)]
    write_rows(sheet, [as_row(rollout, "random") for rollout in rollouts])
    return Labelling(sheet, "ana")


def drawn(
    screen: LabelScreen, console: Console, labelling: Labelling, size: tuple[int, int], note: str = ""
) -> list[str]:
    file = io.StringIO()
    console.file = file
    screen.draw(labelling, size, TypedLine(note, len(note), 100) if note else None)
    return COMMAND.sub("", file.getvalue()).split("\n")


def opened() -> tuple[LabelScreen, Console]:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    return LabelScreen(console), console


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(st.integers(20, 200), st.integers(8, 60)),
    st.text(max_size=300),
    st.text(st.characters(codec="utf-8") | st.just("\n"), max_size=3000),
    st.text(st.sampled_from("ação 漢😀"), max_size=40),
)
def test_every_line_fits_and_none_is_lacking(
    labelling: Labelling, size: tuple[int, int], prompt: str, completion: str, note: str
) -> None:
    screen, console = opened()
    screen.show(Shown("a", "push", prompt, completion), same_prompt=False)
    for _ in range(2):
        lines = drawn(screen, console, labelling, size, note)
        assert len(lines) == size[1]
        assert {cell_len(line) for line in lines} == {size[0]}
        screen.scrolling.scroll_pages(1)
        screen.choose_other()


@pytest.mark.parametrize("size", [(80, 24), (81, 25), (120, 30), (200, 60)])
def test_all_of_a_long_text_can_be_reached(labelling: Labelling, size: tuple[int, int]) -> None:
    words = [f"w{number}." for number in range(2000)]
    screen, console = opened()
    screen.show(Shown("a", "push", "pedido curto", " ".join(words)), same_prompt=False)
    seen: set[str] = set()
    for _ in range(60):
        text = " ".join(drawn(screen, console, labelling, size))
        assert "pedido curto" in text
        seen |= {word for word in words if word in text}
        screen.scrolling.scroll_pages(1)
    assert seen == set(words)


def test_a_text_is_broken_anew_where_the_terminal_becomes_narrower(labelling: Labelling) -> None:
    words = [f"w{number}." for number in range(60)]
    screen, console = opened()
    screen.show(Shown("a", "push", "p", " ".join(words)), same_prompt=False)
    for size in ((110, 30), (40, 30)):
        text = " ".join(drawn(screen, console, labelling, size))
        assert [word for word in words if word not in text] == []


def test_the_only_text_that_does_not_fit_scrolls_at_once(labelling: Labelling) -> None:
    screen, console = opened()
    long = "\n".join(f"linha {number}." for number in range(60))
    for prompt, completion in ((long, "curta"), ("curto", long)):
        screen.show(Shown("a", "push", prompt, completion), same_prompt=False)
        assert "linha 40." not in "\n".join(drawn(screen, console, labelling, (80, 24)))
        screen.scrolling.scroll(30)
        text = "\n".join(drawn(screen, console, labelling, (80, 24)))
        assert "linha 40." in text
        assert "Tab" not in text


def test_the_keys_and_the_scale_fit_eighty_columns(labelling: Labelling) -> None:
    screen, console = opened()
    screen.show(Shown("a", "push", "p", "c"), same_prompt=False)
    scale, keys = drawn(screen, console, labelling, (80, 24))[-2:]
    assert scale.split() == " ".join(f"{key} {meaning}" for key, meaning in SCALE).split()
    assert keys.split() == " ".join(f"{key} {meaning}" for key, meaning in KEYS).split()


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_anchors_of_a_task_are_seen_without_scrolling(labelling: Labelling, task: str) -> None:
    screen, console = opened()
    screen.show_rubric(f"{task_rubric(task)}\n{general_rubric()}")  # type: ignore[arg-type]
    text = "\n".join(drawn(screen, console, labelling, (100, 30)))
    assert all(f"│  {score} " in text for score in range(1, 6))


def test_an_empty_completion_is_told(labelling: Labelling, tmp_path: Path) -> None:
    screen, console = opened()
    screen.show(Shown("a", "push", "p", " \n "), same_prompt=False)
    text = "\n".join(drawn(screen, console, labelling, (80, 24)))
    assert "(resposta vazia)" in text
    assert "0 caracteres" in text


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
