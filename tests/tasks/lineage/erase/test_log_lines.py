"""Log lines of a person: found by what they say, taken out with their feedback, and nobody else's with them."""

import json
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from schemas.disk import replace_whole
from tasks.lineage.erase import log_lines
from tasks.lineage.erase.log_lines import holds_them, remove_lines
from tasks.lineage.erase.traces import Traces

WORDS = "o vendedor sumiu e a caixa veio aberta"
TRACES = Traces(frozenset({"classifique: ruim"}), (WORDS,), ("a" * 32,))


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
    removed = remove_lines(logs, TRACES)
    assert (dict(removed.by), removed.unreached) == ({"id": 1, "text": 6}, ())
    assert requests(logs / "2026-11-27.jsonl") == ["2", "7"]
    assert requests(logs / "feedback" / "2026-11-27.jsonl") == ["2"]
    assert (logs / "2026-11-27.jsonl").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in logs.iterdir()) == ["2026-11-27.jsonl", "feedback"]


def test_a_line_that_is_nested_without_end_is_searched_as_it_is(tmp_path: Path) -> None:
    nested = f'{{"prompt": "{WORDS}", "more": {"[" * 100_000}{"]" * 100_000}}}'
    (tmp_path / "a.jsonl").write_text(f"{nested}\n{nested.replace(WORDS, 'outra')}\n", encoding="utf-8")
    assert remove_lines(tmp_path, TRACES).by == {"text": 1}


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
    assert remove_lines(tmp_path, TRACES).count == 2
    assert pl.read_parquet(tmp_path / "answers.parquet")["prompt"].to_list() == ["Boa"]
    assert not holds_them(tmp_path / "answers.parquet", TRACES)


@pytest.mark.parametrize("name", ["0.parquet", "feedback/0.jsonl"])
def test_an_unreadable_file_keeps_the_lines_of_all(logs: Path, name: str) -> None:
    """The feedback on a line that is gone could not be found when the command is given again."""
    (logs / name).mkdir()
    removed = remove_lines(logs, TRACES)
    assert removed.count == 0
    (sentence,) = removed.unreached
    assert f"{name} cannot be read" in sentence
    assert len(requests(logs / "2026-11-27.jsonl")) == len(LINES)
    (logs / name).rmdir()
    assert remove_lines(logs, TRACES).count == 7


def test_a_line_that_may_be_somebody_elses_stays_and_is_counted(tmp_path: Path) -> None:
    lines = [
        line("1", "Classifique.\nAvaliação: Ótimo"),
        line("2", "Classifique.\nAvaliação: Ótimo demais"),
        line("3", "Classifique.\nAvaliação: ótimo", prompt_id="q" * 64),
        line("4", "Resuma.\nAvaliação:  ÓTIMO", completion="a" * 32),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    removed = remove_lines(tmp_path, Traces(frozenset(), (), ("a" * 32,), doubtful=frozenset({"ótimo"})))
    assert requests(tmp_path / "a.jsonl") == ["1", "2", "3"]
    assert removed.doubtful == {str(tmp_path / "a.jsonl"): 1}
    assert removed.by == {"id": 1}
