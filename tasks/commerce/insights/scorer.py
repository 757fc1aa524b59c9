"""Insights that carry their evidence: two to four claims on the table's cells, each with an action or none.

An answer is `{"achados":[{"coluna","fato","valor","linha","acao"}, ...]}`; `razao` has `outra` before `acao`: the row
that it is compared with. The one checker below says what is true and what fits, for the reward, the log's `valid`, the
probes and the rendering. Nothing else is read, and no word of an answer is ever shown. Components in [0, 1]:

- `claims`: how much the claims tell, beside as many of the best that the table offers, three at least. The share is
  cubed, since highest and lowest cells, whichever they are, tell much of a table. A claim counts once a cell, by the
  cell's salience; `acima` and `abaixo` say less than an end, `valor` nothing. Gamed by salient cells that mislead
  together, since each is checked alone.
- `actions`: what the claims' actions earn beside those of as many best claims: 1 for one that fits, half for one that
  fits every cell of its column but those of few orders, nothing for one that does not fit, repeats or opposes another.
  Where no best claim admits any, findings without fault earn it. Gamed by claims to which an easy action fits.
- `form`: the share of at least two findings that have no fault, in claim or action. Gamed by any true claims.

Each false claim and each repeated cell halves all three, and so does to leave out a plainly bad cell beside one of its
row that tells less. An answer that cannot be read earns 0, the best three findings earn 1. No reference is read: the
table of the prompt decides.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from tasks.commerce.insights.table import KEPT_TABLES, Cell, FigureTable, actions, actions_on, read_table
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.served import read_evidence

WEIGHTS: Final = {"claims": 0.55, "actions": 0.30, "form": 0.15}
MAX_CHARACTERS: Final = 4_000  # Of an answer; four findings have some 600.
FEWEST, ENOUGH, MOST = 2, 3, 4  # Findings of an answer, and those that it needs for the full reward.
OF_BAD_CLAIM: Final = 0.5
KEPT_FINDINGS: Final = 1_024
KEYS: Final = frozenset(("coluna", "fato", "valor", "linha", "acao"))
_KEYS_OF_RATIO: Final = KEYS | {"outra"}
STRONGEST: Final = ("razao", "subiu", "caiu", "melhor", "pior", "maior", "menor", "acima", "abaixo", "valor")
"""Facts, the one that says most first: a cell's demonstration has the first that is true."""
SHARES: Final = {"acima": 0.8, "abaixo": 0.8, "valor": 0.0}
"""What a fact leaves of its cell's salience: all, but of those that are true of half of the cells, or of any."""


class Fault(StrEnum):
    """Fault of a finding, the first that was found: of its claim, which is then not said, or else of its action."""

    FORM = "não tem a forma de um achado"
    FALSE = "a tabela não diz isso"
    REPEATED = "repete uma célula"
    ACTION = "a ação não combina com o achado, ou repete ou contradiz outra"


class CitedFinding(NamedTuple):
    """A claim about one cell, with an action or none (`""`)."""

    coluna: str
    fato: str
    valor: str
    linha: str
    acao: str
    outra: str = ""

    @property
    def cell(self) -> Cell:
        """Return its row and column."""
        return self.linha, self.coluna


class Checked(NamedTuple):
    """A finding, if it has the form of one, and its fault, if any."""

    finding: CitedFinding | None
    fault: Fault | None

    @property
    def said(self) -> CitedFinding | None:
        """The finding whose claim may be said: true, and not said before."""
        return self.finding if self.fault in (None, Fault.ACTION) else None


def read_answer(completion: str) -> list[object] | None:
    """Return the findings of an answer, unchecked; None where it cannot be used, whatever text it is."""
    read = read_evidence(completion, {"achados"}, "achados", MAX_CHARACTERS)
    return read["achados"] if read and 1 <= len(read["achados"]) <= MOST else None


def check(table: FigureTable, findings: Sequence[object]) -> list[Checked]:
    """Return each finding of an answer with its fault, none where all of it holds."""
    checked: list[Checked] = []
    cells: set[Cell] = set()
    taken: dict[str, str] = {}
    for each in findings:
        finding = _read(each)
        if finding is None:
            checked.append(Checked(None, Fault.FORM))
            continue
        action, cell = finding.acao, finding.cell
        fault = _own_fault(table, finding)
        if fault is not Fault.FALSE:
            fault = Fault.REPEATED if cell in cells else fault
            cells.add(cell)
        if fault is None and action:
            if action in taken or is_opposed(action, finding.linha, taken):
                fault = Fault.ACTION
            else:
                taken[action] = finding.linha
        checked.append(Checked(finding, fault))
    return checked


def _read(found: object) -> CitedFinding | None:
    if type(found) is not dict or found.keys() != (_KEYS_OF_RATIO if found.get("fato") == "razao" else KEYS):
        return None
    if set(map(type, found.values())) != {str} or (found["acao"] and found["acao"] not in actions()):
        return None
    claim = (found["coluna"], found["fato"], found["valor"], found["linha"], found["acao"])
    return CitedFinding(*claim, found.get("outra", ""))


@lru_cache(maxsize=KEPT_FINDINGS)
def _own_fault(table: FigureTable, finding: CitedFinding) -> Fault | None:
    """Return the fault that a finding has whatever stands before it; kept, since rollouts of a prompt repeat them."""
    if not is_true(table, finding):
        return Fault.FALSE
    return None if not finding.acao or fits(table, finding, actions()[finding.acao]) else Fault.ACTION


def is_true(table: FigureTable, finding: CitedFinding) -> bool:
    """Return whether row, column and value are the table's, and the fact is true of them."""
    row, title = finding.linha, finding.coluna
    if finding.fato not in table.facts.get((row, title), ()) or finding.valor != table.texts[row, title]:
        return False
    return finding.fato != "razao" or (finding.outra in table.rows and table.times(row, finding.outra, title))


def is_opposed(action: str, row: str, taken: Mapping[str, str]) -> bool:
    """Return whether an action contradicts one of the taken ones, by their rows, on its own row."""
    known = actions()
    return any(
        on == row and (action in (known[other].opostos or ()) or other in (known[action].opostos or ()))
        for other, on in taken.items()
    )


def fits(table: FigureTable, finding: CitedFinding, action: Any) -> bool:
    """Return whether an action makes sense beside a true finding: column, kind of row, side, and few orders."""
    row = finding.linha
    if table.kind not in action.linhas or table.columns[finding.coluna].como not in action.colunas:
        return False
    if (table.is_unsure(row) and not action.leve) or (action.promove and row in table.worst):
        return False
    if (action.amostra and row not in table.few) or (action.divulga and row in table.regulated):
        return False
    if action.lado == "ambos":
        return True
    # A rise from a very bad month is none to promote, so that the cell must lie on the side as well.
    sides = [finding, finding._replace(fato="valor")] if action.promove else [finding]
    return all(_side(table, each) == action.lado for each in sides)


def _side(table: FigureTable, finding: CitedFinding) -> str:
    """Return the side on which a true finding lies, `alto` or `baixo`; nothing where nobody need act.

    It is that of the median, of a change that of the month before. A column's own floor must be passed too: a delay of
    3 % asks for nothing because it is the highest of the table.
    """
    row, title = finding.linha, finding.coluna
    gap = table.gap(row, title, table.before[row] if finding.fato in ("subiu", "caiu") else None)
    own, column = table.figures[row, title], table.columns[title]
    if gap >= 1 and (column.age_acima is None or own >= column.age_acima):
        return "alto"
    if gap <= -1 and finding.fato != "razao" and (column.age_abaixo is None or own <= column.age_abaixo):
        return "baixo"
    return ""


class Best(NamedTuple):
    """The best findings of a table, the sum of their worths, and what their actions earn."""

    findings: tuple[CitedFinding, ...]
    salience: float
    actions: float


def _worth(table: FigureTable, cell: Cell, fact: str) -> float:
    """Return how informative a true claim is, in [0, 1)."""
    return SHARES.get(fact, 1.0) * table.salience[cell]


def _strongest(table: FigureTable, cell: Cell) -> str:
    """Return the fact that a cell's demonstration has."""
    return next(fact for fact in STRONGEST if fact in table.facts[cell])


def _hides(table: FigureTable, said: Mapping[Cell, float]) -> bool:
    """Return whether a row's cells are said by their worths, and not a bad one of the row that says more."""
    return any(
        _worth(table, bad, _strongest(table, bad)) > worth
        for (row, _), worth in said.items()
        for bad in table.bad
        if bad[0] == row and bad not in said
    )


def _earned_by_action(action: str) -> float:
    """Return what a fitting action earns: half where it would fit every cell of its column."""
    return 0.5 if actions()[action].lado == "ambos" else 1.0


@cache
def _by_gain(kind: str, column: str) -> list[Any]:
    return sorted(actions_on(kind, column), key=lambda action: -_earned_by_action(action.id))


@lru_cache(maxsize=KEPT_TABLES)
def best_of(table: FigureTable, count: int = ENOUGH) -> Best:
    """Return so many of the best findings: of the most surprising cells the strongest facts, with actions that fit."""
    facts = {cell: _strongest(table, cell) for cell in table.facts}
    worths = {cell: _worth(table, cell, fact) for cell, fact in facts.items()}
    chosen = sorted(worths, key=lambda cell: (-worths[cell], STRONGEST.index(facts[cell]), cell))[:count]
    taken: dict[str, str] = {}
    findings = []
    for row, title in chosen:
        fact = facts[row, title]
        lower = [each for each in table.rows if fact == "razao" and table.times(row, each, title)]
        other = max(lower, key=lambda each: table.figures[each, title], default="")
        bare = CitedFinding(title, fact, table.texts[row, title], row, "", other)
        fitting = (
            each.id
            for each in _by_gain(table.kind, table.columns[title].como)
            if each.id not in taken and fits(table, bare, each) and not is_opposed(each.id, row, taken)
        )
        if action := next(fitting, ""):
            taken[action] = row
        findings.append(bare._replace(acao=action))
    return Best(tuple(findings), sum(worths[cell] for cell in chosen), sum(map(_earned_by_action, taken)))


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the claims, their actions and the form."""
    table, found = read_table(prompt), read_answer(completion)
    if table is None or found is None:
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    checked = check(table, found)
    worths = {cell: _worth(table, cell, said.fato) for each in checked if (said := each.said) for cell in [said.cell]}
    left = OF_BAD_CLAIM ** (sum(fault in (Fault.FALSE, Fault.REPEATED) for _, fault in checked) + _hides(table, worths))
    sound = [finding for finding, fault in checked if fault is None and finding]
    earned = sum(_earned_by_action(each.acao) for each in sound if each.acao)
    best = best_of(table, max(ENOUGH, len(found)))
    told = min(1.0, sum(worths.values()) / best.salience if best.salience else len(worths) / len(best.findings))
    components = {
        "claims": left * told**3,
        "actions": left * min(1.0, earned / best.actions if best.actions else len(sound) / len(best.findings)),
        "form": left * len(sound) / max(FEWEST, len(checked)),
    }
    return Score(components, {"achados": found})


REWARD: Final = Reward(WEIGHTS, score)
