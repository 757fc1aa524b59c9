"""The shipped general instructions: short, distinct, of nobody, and none is asked by the test of forgetting."""

from itertools import pairwise

import polars as pl

from schemas.config.config import DEMONSTRATIONS_FILE
from schemas.json_lines import read_json_lines
from schemas.tables.prompts import Instruction
from tasks.curate.words import with_words
from tasks.evaluate.general.instructions import instructions
from tasks.personal_data.scrub import scrub

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


def test_none_has_personal_data_or_a_control_token() -> None:
    texts = [text for each in ALL for text in (each.prompt, each.completion)]
    assert [text for text in texts if scrub(text)[0] != text or "<|" in text] == []
