"""Insights that carry their evidence: two to four claims on the table's cells, each with an action or none.

`grounded`, components in [0, 1]; the checker (`tasks.commerce.insights.checker`) says what is true and what fits:

- `claims`: how much the claims tell, beside as many of the best that the table offers, three at least. The share is
  cubed, since highest and lowest cells, whichever they are, tell much of a table. A claim counts once a cell, by the
  cell's salience; `acima` and `abaixo` say less than an end, `valor` nothing. Gamed by salient cells that mislead
  together, since each is checked alone.
- `actions`: what the claims' actions earn beside those of as many best claims: 1 for one that fits, half for one that
  fits every cell of its column but those of few orders, nothing for one that does not fit, repeats or opposes another.
  All earn it where no cell admits any. Gamed by claims to which an easy action fits.
- `form`: the share of at least two findings that have no fault, in claim or action. Gamed by any true claims.

Each false claim and each repeated cell halves all three. An answer that cannot be read earns 0, the best three findings
earn 1. No reference is read: the table of the prompt decides.
"""

from collections.abc import Sequence
from typing import Final

from tasks.commerce.insights.checker import (
    ENOUGH,
    FALSE,
    FEWEST,
    Best,
    CitedFinding,
    Fault,
    best_of,
    check,
    earned_by_action,
    read_answer,
    worth,
)
from tasks.commerce.insights.table import FigureTable, read_table
from tasks.commerce.reward import Reference, Reward, Score

WEIGHTS: Final = {"claims": 0.55, "actions": 0.30, "form": 0.15}
NOTHING: Final = Score(dict.fromkeys(WEIGHTS, 0.0))
OF_BAD_CLAIM: Final = 0.5


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the claims, their actions and the form."""
    table, found = read_table(prompt), read_answer(completion)
    if table is None or found is None:
        return NOTHING
    checked = check(table, found)
    left = OF_BAD_CLAIM ** sum(fault in FALSE or fault is Fault.REPEATED for _, fault in checked)
    said = [each.said for each in checked if each.said]
    sound = [finding for finding, fault in checked if fault is None and finding]
    earned = sum(earned_by_action(each.acao) for each in sound if each.acao)
    best = best_of(table, max(ENOUGH, len(found)))
    components = {
        "claims": left * _told(table, said, best) ** 3,
        "actions": left * (min(1.0, earned / best.actions) if best.actions else 1.0),
        "form": left * len(sound) / max(FEWEST, len(checked)),
    }
    return Score(components, {"achados": found})


def _told(table: FigureTable, said: Sequence[CitedFinding], best: Best) -> float:
    """Return the share of the best claims' worth that an answer's have, in [0, 1]."""
    worths = [worth(table, (each.linha, each.coluna), each.fato) for each in said]
    return min(1.0, sum(worths) / best.salience if best.salience else len(worths) / len(best.findings))


REWARD: Final = Reward(WEIGHTS, score)
