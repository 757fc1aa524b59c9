"""The pins of the trainer's environment, and that Unsloth is tried with the libraries that it trains with."""

from pathlib import Path

import pytest

from schemas.source import REPOSITORY
from tasks.train.backend import pins
from tasks.train.backend.pins import unpinned

REPLACED = ("accelerate", "bitsandbytes", "datasets", "peft", "torch", "transformers", "trl")
"""Libraries whose code Unsloth replaces or is written against."""


def _pinned(name: str) -> dict[str, str]:
    lines = (REPOSITORY / "constraints" / name).read_text(encoding="utf-8").splitlines()
    return {
        package.lower().replace("_", "-"): version
        for package, _, version in (line.partition("==") for line in lines if "==" in line and line[0] != "#")
    }


def test_a_version_that_is_pinned_is_accepted_and_another_one_or_none_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[dependency-groups]\ntrainer = ["pytest", "no-such-thing==1.0", "torch==2.0.1"]', encoding="utf-8"
    )
    monkeypatch.setattr(pins, "REPOSITORY", tmp_path)
    assert unpinned("pytest") is None
    assert unpinned("pytest", "no-such-thing") == "no-such-thing==1.0 (installed: none)"
    monkeypatch.setattr(pins, "version", lambda name: "2.1.0" if name == "torch" else pytest.fail(name))
    assert unpinned("torch") == "torch==2.0.1 (installed: 2.1.0)"


def test_unsloth_is_tried_on_a_cpu_as_it_trains_on_a_card() -> None:
    on_cpu, on_card, beside = map(_pinned, ("unsloth-cpu.txt", "trainer-linux-cuda.txt", "laptop.txt"))
    assert on_cpu["unsloth"]
    assert {name: on_card.get(name) for name in on_cpu} == on_cpu
    assert {name: beside[name] for name in REPLACED} == {name: on_card[name] for name in REPLACED}
    assert not on_cpu.keys() & beside.keys(), "one of the two would hide the other"
