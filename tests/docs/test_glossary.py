"""The glossary has the words by which commands and reports judge, in the order of the alphabet."""

import re
from typing import get_args

from schemas.config.evaluate import BASELINES
from schemas.source import REPOSITORY
from tasks.evaluate.stats.statistics import Verdict

ROW = re.compile(r"^\| ([^|]+?)(?: \*)? \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
REPORTED = {"base", "tuned", "gain", "interval", "verdict", "variety", "rho", "alpha", "fencing", "floor", "drift"}


def test_the_glossary_has_the_words_of_the_tables_in_alphabetical_order() -> None:
    rows = ROW.findall((REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8"))[1:]
    terms = [term for term, *_ in rows if term != "---"]
    assert terms == sorted(terms, key=lambda term: re.sub(r"[^a-z]", "", term.lower()))
    assert {*get_args(Verdict), *BASELINES, *REPORTED} - set(terms) == set()
