"""The best findings on a table: what a reward is measured by, and what the stand-in is shown."""

from functools import cache, lru_cache
from typing import Final, NamedTuple

from tasks.commerce.insights.checker import CitedFinding, actions, actions_on, fits, is_opposed
from tasks.commerce.insights.phrases import Action
from tasks.commerce.insights.table import KEPT_TABLES, Cell, FigureTable

ENOUGH: Final = 3
"""Findings that an answer needs for the full reward."""
STRONGEST: Final = ("razao", "subiu", "caiu", "melhor", "pior", "maior", "menor", "acima", "abaixo", "valor")
"""Facts, the one that says most first: a cell's demonstration has the first that is true."""
SHARES: Final = {"acima": 0.8, "abaixo": 0.8, "valor": 0.0}
"""What a fact leaves of its cell's salience: all, but of those that are true of half of the cells, or of any."""


class Best(NamedTuple):
    """The best findings of a table and what they are worth."""

    findings: tuple[CitedFinding, ...]
    salience: float
    """Sum of their worths."""
    actions: float
    """Sum of what their actions earn."""


def worth(table: FigureTable, cell: Cell, fact: str) -> float:
    """Return how informative a true claim is, in [0, 1)."""
    return SHARES.get(fact, 1.0) * table.salience[cell]


def earned_by_action(action: str) -> float:
    """Return what a fitting action earns: half where it would fit every cell of its column."""
    return 0.5 if actions()[action].lado == "ambos" else 1.0


@lru_cache(maxsize=KEPT_TABLES)
def best_of(table: FigureTable, count: int = ENOUGH) -> Best:
    """Return so many of the best findings: of the most surprising cells the strongest facts, with actions that fit."""
    facts = {cell: _strongest(table, cell) for cell in table.facts}
    worths = {cell: worth(table, cell, fact) for cell, fact in facts.items()}
    chosen = sorted(worths, key=lambda cell: (-worths[cell], STRONGEST.index(facts[cell]), cell))[:count]
    taken: dict[str, str] = {}
    findings = []
    for cell in chosen:
        bare = _finding(table, cell, facts[cell])
        action = _action(table, bare, taken)
        if action:
            taken[action] = bare.linha
        findings.append(bare._replace(acao=action))
    return Best(
        tuple(findings),
        sum(worths[cell] for cell in chosen),
        sum(map(earned_by_action, taken)),
    )


def _strongest(table: FigureTable, cell: Cell) -> str:
    true = table.facts[cell]
    return next(fact for fact in STRONGEST if fact in true)


def _finding(table: FigureTable, cell: Cell, fact: str) -> CitedFinding:
    row, title = cell
    other = ""
    if fact == "razao":
        lower = (each for each in table.rows if table.times(row, each, title))
        other = max(lower, key=lambda each: table.figures[each, title])
    return CitedFinding(title, fact, table.texts[cell], row, "", other)


def _action(table: FigureTable, finding: CitedFinding, taken: dict[str, str]) -> str:
    """Return the fitting action that earns most and is neither taken nor opposed on its row; none if there is none."""
    return next(
        (
            action.id
            for action in _by_gain(table.kind, finding.coluna.lower())
            if action.id not in taken and fits(table, finding, action) and not is_opposed(action, finding.linha, taken)
        ),
        "",
    )


@cache
def _by_gain(kind: str, column: str) -> tuple[Action, ...]:
    return tuple(sorted(actions_on(kind, column), key=lambda action: -earned_by_action(action.id)))
