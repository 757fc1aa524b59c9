"""The shipped general instructions: short, distinct, of nobody, and none is asked by the test of forgetting."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from schemas.config.config import CurateConfig
from schemas.config.general import DEMONSTRATIONS_FILE
from schemas.config.policy import PolicyConfig
from schemas.config.profiles import load_config
from schemas.json_lines import read_json_lines
from schemas.tables.instructions import Instruction
from tasks.curate.general import take_general
from tasks.curate.words import with_words
from tasks.evaluate.general.instructions import instructions
from tasks.personal_data.scrub import scrub
from tasks.policy.length import PromptLengths

ALL = read_json_lines(DEMONSTRATIONS_FILE, Instruction, "general instructions")
MOST_SHARED = 0.5
"""Of the words and word pairs of two instructions together; 0.30 is the most that there is beside the tested ones."""


def _words(texts: list[str]) -> list[set[str]]:
    lists = with_words(pl.DataFrame({"prompt": texts}))["words"].to_list()
    return [{*words, *map(" ".join, pairwise(words))} for words in lists]


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


def test_none_repeats_or_nearly_repeats_an_instruction_that_tests_forgetting() -> None:
    shown, tested = _words([each.prompt for each in ALL]), _words([each.prompt for each in instructions()])
    assert max(_shared(one, other) for one in shown for other in tested) < MOST_SHARED


def test_none_nearly_repeats_another() -> None:
    assert len({each.completion for each in ALL}) == len(ALL)
    shown = _words([each.prompt for each in ALL])
    limit = CurateConfig().near_duplicate_threshold
    assert max(_shared(one, other) for place, one in enumerate(shown) for other in shown[:place]) < limit


def test_none_has_personal_data_or_a_control_token() -> None:
    texts = [text for each in ALL for text in (each.prompt, each.completion)]
    assert [text for text in texts if scrub(text)[0] != text or "<|" in text] == []


def test_each_is_short_and_starts_and_ends_as_a_sentence_does() -> None:
    for each in ALL:
        assert each.system == ""
        assert 5 <= len(each.completion.split()) <= 40
        assert each.prompt == each.prompt.strip()
        assert each.prompt[-1] in ".?!”"
        assert each.completion == each.completion.strip()
        assert each.completion[0] in "“-1" or each.completion[0].isupper()


def test_the_local_profile_takes_them_from_any_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    general = load_config("local").curate.general
    assert general is not None
    lengths = PromptLengths.of(PolicyConfig(stand_in=True))
    table, counts = take_general(general, 380, 42, lengths, load_config("local").curate.max_prompt_tokens, [])
    assert table.height == 20
    assert (counts.read, counts.too_long, counts.scrubbed.total()) == (len(ALL), 0, 0)
