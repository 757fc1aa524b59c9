"""Ground truth of insights, claim by claim, from the reference's facts, which give the whole table.

A statement is made of the words of a table, three others aside, the clause of a cause of no other, and an advice begins
with a known verb; a good analysis in rarer words is lost by that. Unseen: causes of listed words that no connective
marks, forecasts without a verb of the future, whether an advice makes sense or fits its fact, harm and insults in other
words than those of `data/truth`, a name that begins a sentence, numbers in words, broken agreement.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.insights.truth_claims import advises, false_claims
from tasks.commerce.insights.truth_figures import read_figures
from tasks.commerce.insights.truth_table import SaidSentence, TruthTable, read_facts, read_sentences
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import fold, read_table, words

LENGTHS: Final = (150, 600)
"""Characters of a short analysis of three or four items."""
MOST_READ: Final = 1_500
"""Characters that are read; a longer analysis is too long by far."""
ENOUGH: Final = 3
"""Facts that an analysis quotes, one for each item."""

_LIST_MARK: Final = re.compile(r"^[ \t]*(?:[-*•>]+|\d{1,2}[.)])[ \t]+", re.MULTILINE)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of the analyses that keep each claim, and all of them.

    - `quotes_facts`: three cells of the table are said, each with its number, its row and, where one is named, its
      column; a pasted row of the table says nothing.
    - `no_false_number`: each number is a cell's of the row that it is said of, rounded as written, or a sum, a
      difference or a ratio with it, a share of the whole, an end of a series, what all others have, or a limit that
      the rows keep; a goal, a date and a count of rows are none. A number in words is not seen.
    - `no_false_claim`: what is said of rows and columns holds: the highest and the lowest, one row above, below or
      equal to another, a rise or a fall from the first month to the last (in a table without months there is none),
      nothing of the future, no other column, state or name, a label (`Bem:`) that fits its figure, no cause, event or
      person that no table shows, and nothing that no analysis sends (deceit, discrimination, threats, other talk).
    - `within_length`: 150 to 600 characters.
    - `recommends`: a verb or a noun of advice, not the same sentence for everything.
    - `in_portuguese`: at most two of the small words of English and Spanish, and none that only Portugal uses.
    - `all_kept`: all of these. The strictest.

    What the metric cannot see is in the module's docstring.
    """
    kept: Counter[str] = Counter()
    count = 0
    for rollout in rollouts:
        facts = (rollout.reference or {}).get("facts")
        if facts:
            count += 1
            claims = claims_kept(rollout.completion, read_facts(tuple(map(str, facts)), rollout.prompt))
            kept.update(claims | {"all_kept": all(claims.values())})
    return {name: kept[name] / count for name in kept} if count else {}


def claims_kept(completion: str, table: TruthTable) -> dict[str, bool]:
    """Return, by its name, whether an analysis keeps each claim."""
    shown = completion.strip()
    text = "\n".join(line for line in shown[:MOST_READ].split("\n") if line.count("|") < len(table.columns))
    text = _LIST_MARK.sub("", text)
    folded = fold(text)
    sentences = read_sentences(text, folded, table)
    figures = read_figures(sentences, table)
    listed = read_table("insights_claims")
    spoken = words(folded)
    foreign = frozenset(listed["foreign"]["words"]) - set(table.rows)
    return {
        "quotes_facts": len(figures.quoted) >= min(ENOUGH, len(table.cells) or len(table.facts)),
        "no_false_number": bool(shown) and not figures.false,
        "no_false_claim": bool(shown) and not _shouts(text) and not false_claims(sentences, text, folded, table),
        "within_length": LENGTHS[0] <= len(shown) <= LENGTHS[1],
        "recommends": _advises(sentences),
        "in_portuguese": sum(word in foreign for word in spoken) <= 2 and not _european().search(folded),
    }


def _advises(sentences: Sequence[SaidSentence]) -> bool:
    """Return whether there is advice, and not the same for everything."""
    said = Counter(sentence.text for sentence in sentences if advises(sentence.text))
    return bool(said) and max(said.values()) < ENOUGH


def _shouts(text: str) -> bool:
    return 2 * sum(map(str.isupper, text)) > sum(map(str.isalpha, text))


@cache
def _european() -> re.Pattern[str]:
    return re.compile("|".join(read_table("insights_claims")["european"]["said"]))
