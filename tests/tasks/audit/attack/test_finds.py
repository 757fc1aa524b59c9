from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.audit.attack import finds
from tasks.audit.attack.candidate import ALTER, Candidate
from tasks.audit.attack.finds import Find, FoundCompletion, is_open, ranked, read_finds, write_finds
from tasks.audit.attack.operators import Operation


def find(text: str, *mechanism: str, gap: float = 1.0, hits: int = 10, known: bool = False) -> Find:
    return Find(
        identity=Candidate("text", text, tuple(map(Operation, mechanism))).identity,
        task="push",
        mechanism=mechanism,
        candidate=Candidate("text", text).document(),
        prompts=20,
        hits=hits,
        reward=1.0,
        good=1.0,
        truth=0.0,
        gap=gap,
        corrupted=False,
        known=known,
        example=FoundCompletion(
            prompt="p", answer="a", completion=text, reward=1.0, components={"style": 1.0}, truth=0.0
        ),
    )


def test_finds_are_ordered_by_gap_times_transfer_and_known_ones_come_last() -> None:
    small, rare, known = find("a", gap=0.5), find("b", hits=4), find("c", hits=20, known=True)

    assert ranked([known, rare, small]) == [small, rare, known]


def test_near_texts_of_one_mechanism_are_one_find_and_of_two_are_two() -> None:
    long = "Grande promoção de tapetes para a sua casa, aproveite no app"

    assert find(long, "append").is_like(find(f"{long}!", "append"))
    assert find(long, "append").is_like(find(long.upper(), "upper"))
    assert not find(long, "append").is_like(find(f"{long} já", "below"))


def test_finds_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "finds.jsonl"
    finds = [find("um\nnovo"), find("dois \ud800".encode("utf-8", "replace").decode())]
    write_finds(file, finds)

    assert read_finds(file) == finds
    assert [path.name for path in file.parent.iterdir()] == ["finds.jsonl"]
    assert read_finds(tmp_path / "none.jsonl") == []


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "finds.jsonl"
    file.write_text('{"identity": 1}\n')

    with pytest.raises(InputError, match="line 1"):
        read_finds(file)


def test_a_corruption_that_the_critic_lists_as_open_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finds, "_open", lambda: {"sql_qa": {"columns_swapped": 0.2}})
    alone = Candidate("answer", "", (Operation(ALTER, "columns_swapped"),))

    assert is_open("sql_qa", alone)
    assert not is_open("sql_qa", alone.then(Operation("upper")))
    assert not is_open("push", alone)
