"""Log lines of a person: found by what they say, taken out with their feedback, and nobody else's with them."""

import json
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from schemas.disk import replace_whole
from schemas.tables.person import Person
from tasks.lineage.privacy import log_lines
from tasks.lineage.privacy.log_lines import Traces, holds_them, remove_lines, traces_of
from tasks.lineage.store.inventory import read_inventory

WORDS = "o vendedor sumiu e a caixa veio aberta"
TRACES = Traces(frozenset({"Classifique: ruim"}), (WORDS,), ("a" * 32,))


def line(request: str, prompt: str, **more: object) -> str:
    return json.dumps({"request_id": request, "prompt": prompt, "completion": "ok", **more}, ensure_ascii=False)


LINES = [
    line("1", "Classifique: ruim"),
    line("2", "Classifique: ruim demais"),
    line("3", "Resuma. Avaliação: O VENDEDOR sumiu e a  caixa veio aberta!"),
    line("4", "Outra", completion=f"cliente {'a' * 32}"),
    line("5", "Outra", reference=json.dumps({"main_complaint": f"não: {WORDS}"})),
    '{"request_id": "6", "prompt": "cortada: o vendedor sumiu e a caixa veio aberta',
    '{"request_id": "7", "prompt": "cortada',
]
FEEDBACK = [json.dumps({"request_id": str(number), "rating": 1}) for number in (1, 2, 3)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "feedback").mkdir()
    (tmp_path / "2026-11-27.jsonl").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "feedback" / "2026-11-27.jsonl").write_text("\n".join(FEEDBACK) + "\n", encoding="utf-8")
    (tmp_path / "2026-11-27.jsonl").chmod(0o600)
    return tmp_path


def requests(file: Path) -> list[str]:
    return [text.split('"')[3] for text in file.read_text(encoding="utf-8").splitlines()]


def test_lines_are_found_by_prompt_by_words_by_id_and_where_they_were_cut_off(logs: Path) -> None:
    assert remove_lines(logs, TRACES) == (7, ())
    assert requests(logs / "2026-11-27.jsonl") == ["2", "7"]
    assert requests(logs / "feedback" / "2026-11-27.jsonl") == ["2"]
    assert (logs / "2026-11-27.jsonl").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in logs.iterdir()) == ["2026-11-27.jsonl", "feedback"]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("pedido 10012002.", True),
        ("pedido\n10012002", True),
        ("preço 9910012002", False),
        ("hash a10012002f", False),
        ("código 10012002-7", False),
        ("às 7:07", False),
    ],
)
def test_an_id_is_found_as_a_whole_and_not_within_another(said: str, found: bool) -> None:
    traces = Traces(frozenset(), (), ("10012002",))
    assert traces.are_in_json(json.dumps({"answer": said})) is found
    assert traces.are_in([said], None) is found


def test_an_id_after_a_line_break_is_found_in_a_line_that_was_cut_off(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "pedido\\n10012002 foi\n', encoding="utf-8")
    assert remove_lines(tmp_path, Traces(frozenset(), (), ("10012002",))) == (1, ())


def test_a_short_id_is_not_looked_for_and_its_kind_is_named(tmp_path: Path) -> None:
    person = Person(frozenset(), frozenset({"7"}), frozenset({"r" * 32}), frozenset())
    traces = traces_of(read_inventory(tmp_path), person)
    assert traces.ids == ("r" * 32,)
    (sentence,) = traces.unsearched
    assert "not searched for the order_id" in sentence
    assert "7" not in sentence


def test_a_second_time_there_is_nothing_to_take_out(logs: Path) -> None:
    remove_lines(logs, TRACES)
    before = (logs / "2026-11-27.jsonl").read_bytes()
    assert remove_lines(logs, TRACES) == (0, ())
    assert (logs / "2026-11-27.jsonl").read_bytes() == before


@pytest.mark.parametrize("files_left", range(3))
def test_feedback_is_found_after_a_kill_between_any_two_files(
    logs: Path, monkeypatch: pytest.MonkeyPatch, files_left: int
) -> None:
    left = files_left

    def killed_at_last(file: Path, content: bytes) -> None:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        replace_whole(file, content)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(log_lines, "replace_whole", killed_at_last)
        remove_lines(logs, TRACES)
    remove_lines(logs, TRACES)
    assert requests(logs / "2026-11-27.jsonl") == ["2", "7"]
    assert requests(logs / "feedback" / "2026-11-27.jsonl") == ["2"]


def test_tables_are_searched_too(tmp_path: Path) -> None:
    table = pl.DataFrame({"prompt": ["Classifique: ruim", "Outra"], "completion": ["a", WORDS.upper()]})
    table.vstack(pl.DataFrame({"prompt": ["Boa"], "completion": ["b"]})).write_parquet(tmp_path / "answers.parquet")
    assert holds_them(tmp_path / "answers.parquet", TRACES)
    assert remove_lines(tmp_path, TRACES) == (2, ())
    assert pl.read_parquet(tmp_path / "answers.parquet")["prompt"].to_list() == ["Boa"]
    assert not holds_them(tmp_path / "answers.parquet", TRACES)


def test_a_log_that_cannot_be_read_is_named_and_the_others_are_cleaned(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no table")
    (tmp_path / "b.jsonl").mkdir()
    (tmp_path / "c.jsonl").write_text(LINES[0] + "\n", encoding="utf-8")
    removed, unreached = remove_lines(tmp_path, TRACES)
    assert removed == 1
    assert ["a.parquet cannot be read" in unreached[0], "b.jsonl cannot be read" in unreached[1]] == [True, True]
