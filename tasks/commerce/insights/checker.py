"""The one checker of findings, and the best ones: what reward, `valid`, probes and rendering know of an answer.

An answer is `{"achados":[{"coluna","fato","valor","linha","acao"}, ...]}` with two to four findings. `razao` has
`outra` before `acao`: the row that it is compared with. Nothing else is read, and no word of an answer is ever shown.
The best findings on a table are what a reward is measured by, and what the stand-in is shown.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from tasks.commerce.evidence import read_evidence
from tasks.commerce.insights.phrases import Action, read_phrases
from tasks.commerce.insights.table import KEPT_TABLES, Cell, FigureTable

MAX_CHARACTERS: Final = 4_000
"""Of an answer; four findings have some 600."""
FEWEST, MOST = 2, 4
KEPT_FINDINGS: Final = 1_024
"""Faults of findings that are kept, since the rollouts of a prompt say the same ones."""
KEYS: Final = ("coluna", "fato", "valor", "linha", "acao")
_KEYS: Final = frozenset(KEYS)
_KEYS_OF_RATIO: Final = frozenset((*KEYS, "outra"))


class Fault(StrEnum):
    """Fault of a finding, the first that was found: of its claim, which is then not said, or else of its action."""

    FORM = "não tem a forma de um achado"
    """It is no object of these keys with texts, or its action is none of the catalogue."""
    COLUMN = "a tabela não tem essa coluna"
    ROW = "a tabela não tem essa linha"
    VALUE = "o valor não é o da tabela"
    """It is not the one that the table prints in that cell."""
    FACT = "o fato não é verdadeiro"
    """It is not true of the cell."""
    REPEATED = "repete uma célula"
    """An earlier finding is of the same cell: nothing is said twice."""
    ACTION = "a ação não combina com o achado"
    """It makes no sense beside the finding."""
    REPEATED_ACTION = "repete uma ação"
    OPPOSED = "a ação contradiz outra"
    """It contradicts an earlier one on the same row."""


FALSE: Final = (Fault.COLUMN, Fault.ROW, Fault.VALUE, Fault.FACT)
"""Faults of a claim that says something untrue."""
OF_ACTION: Final = (Fault.ACTION, Fault.REPEATED_ACTION, Fault.OPPOSED)


class CitedFinding(NamedTuple):
    """A claim about one cell, with an action or none (`""`)."""

    coluna: str
    fato: str
    valor: str
    linha: str
    acao: str
    outra: str = ""


class Checked(NamedTuple):
    """A finding and its fault, if any."""

    finding: CitedFinding | None
    """None where it has no form."""
    fault: Fault | None

    @property
    def said(self) -> CitedFinding | None:
        """The finding whose claim may be said: true, and not said before."""
        return self.finding if self.fault is None or self.fault in OF_ACTION else None


def read_answer(completion: str) -> list[object] | None:
    """Return the findings of an answer, unchecked; None where it cannot be used, whatever text it is."""
    read = read_evidence(completion, {"achados"}, "achados", MAX_CHARACTERS)
    return read["achados"] if read and 1 <= len(read["achados"]) <= MOST else None


def check(table: FigureTable, findings: Sequence[object]) -> list[Checked]:
    """Return each finding of an answer with its fault, none where all of it holds."""
    checked: list[Checked] = []
    cells: set[tuple[str, str]] = set()
    taken: dict[str, str] = {}
    for each in findings:
        finding = _read(each)
        if finding is None:
            checked.append(Checked(None, Fault.FORM))
            continue
        fault = _own_fault(table, finding)
        if fault is None or fault is Fault.ACTION:
            cell = (finding.linha, finding.coluna)
            fault = Fault.REPEATED if cell in cells else fault
            cells.add(cell)
        if fault is None and finding.acao:
            if finding.acao in taken:
                fault = Fault.REPEATED_ACTION
            elif is_opposed(actions()[finding.acao], finding.linha, taken):
                fault = Fault.OPPOSED
            else:
                taken[finding.acao] = finding.linha
        checked.append(Checked(finding, fault))
    return checked


def _read(found: object) -> CitedFinding | None:
    if not isinstance(found, dict) or found.keys() != (_KEYS_OF_RATIO if found.get("fato") == "razao" else _KEYS):
        return None
    if set(map(type, found.values())) != {str} or (found["acao"] and found["acao"] not in actions()):
        return None
    return CitedFinding(**found)


@lru_cache(maxsize=KEPT_FINDINGS)
def _own_fault(table: FigureTable, finding: CitedFinding) -> Fault | None:
    """Return the fault that a finding has whatever stands before it."""
    fault = claim_fault(table, finding)
    if fault is not None or not finding.acao:
        return fault
    return None if fits(table, finding, actions()[finding.acao]) else Fault.ACTION


def claim_fault(table: FigureTable, finding: CitedFinding) -> Fault | None:
    """Return the fault of a finding's claim alone."""
    cell = (finding.linha, finding.coluna)
    if finding.coluna not in table.columns:
        return Fault.COLUMN
    if finding.linha not in table.rows or (finding.fato == "razao" and finding.outra not in table.rows):
        return Fault.ROW
    if finding.valor != table.texts[cell]:
        return Fault.VALUE
    if finding.fato not in table.facts.get(cell, ()):
        return Fault.FACT
    true = finding.fato != "razao" or table.times(finding.linha, finding.outra, finding.coluna)
    return None if true else Fault.FACT


def is_opposed(action: Action, row: str, taken: Mapping[str, str]) -> bool:
    """Return whether an action contradicts one of the taken ones, by their rows, on its own row."""
    return any(
        on == row and (action.id in actions()[other].opostos or other in action.opostos) for other, on in taken.items()
    )


@cache
def actions() -> dict[str, Action]:
    """Return the catalogue by the actions' ids."""
    return {action.id: action for action in read_phrases().acoes}


@cache
def actions_on(kind: str, column: str) -> tuple[Action, ...]:
    """Return the actions that a kind of rows and a column, by the one that it is as, may have."""
    return tuple(each for each in read_phrases().acoes if kind in each.linhas and column in each.colunas)


def side(table: FigureTable, finding: CitedFinding) -> str:
    """Return the side on which a true finding lies, `alto` or `baixo`; nothing where nobody need act.

    It is that of the median, of a change that of the month before. A column's own floor must be passed too: a delay of
    3 % asks for nothing because it is the highest of the table.
    """
    row, title = finding.linha, finding.coluna
    changed = finding.fato in ("subiu", "caiu")
    gap = table.gap(row, title, table.before[row] if changed else None)
    own, column = table.figures[row, title], table.columns[title]
    if gap >= 1 and (column.age_acima is None or own >= column.age_acima):
        return "alto"
    if gap <= -1 and finding.fato != "razao" and (column.age_abaixo is None or own <= column.age_abaixo):
        return "baixo"
    return ""


def fits(table: FigureTable, finding: CitedFinding, action: Action) -> bool:
    """Return whether an action makes sense beside a true finding: column, kind of row, side, and few orders."""
    row = finding.linha
    if table.kind not in action.linhas or row in table.unknown or _column(table, finding) not in action.colunas:
        return False
    if (row in table.unsure and not action.leve) or (action.amostra and row not in table.few):
        return False
    if (action.divulga and row in table.regulated) or (action.promove and row in table.worst):
        return False
    if action.lado == "ambos" or side(table, finding) != action.lado:
        return action.lado == "ambos"
    # A rise from a very bad month is none to promote, so that the cell must lie on the side as well.
    return not action.promove or side(table, finding._replace(fato="valor")) == action.lado


def _column(table: FigureTable, finding: CitedFinding) -> str:
    return table.columns[finding.coluna].como


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
            for action in _by_gain(table.kind, _column(table, finding))
            if action.id not in taken and fits(table, finding, action) and not is_opposed(action, finding.linha, taken)
        ),
        "",
    )


@cache
def _by_gain(kind: str, column: str) -> tuple[Action, ...]:
    return tuple(sorted(actions_on(kind, column), key=lambda action: -earned_by_action(action.id)))
