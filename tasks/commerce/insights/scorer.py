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

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tasks.commerce.insights.table import ACTIONS, FRAMES, Cell, FigureTable, actions_on, forms_of, read_table
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.served import Served, read_evidence
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese import decimal
from tasks.commerce.text.text_form import fold, ramp, words

DATA_FILES: Final = ("data/lexicons/domain_words.txt", "data/lexicons/report_action_words.txt")
WEIGHTS: Final = {"claims": 0.55, "actions": 0.30, "form": 0.15}
MAX_CHARACTERS: Final = 4_000  # Of an answer; four findings have some 600.
FEWEST, ENOUGH, MOST = 2, 3, 4  # Findings of an answer, and those that it needs for the full reward.
OF_BAD_CLAIM: Final = 0.5
KEPT: Final = 1_024
KEYS: Final = frozenset(("coluna", "fato", "valor", "linha", "acao"))
STRONGEST: Final = ("razao", "subiu", "caiu", "melhor", "pior", "maior", "menor", "acima", "abaixo", "valor")
"""Facts, the one that says most first."""
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
        """Return what may be said: a true claim that was not said before, without an action that does not fit."""
        if self.finding and self.fault is Fault.ACTION:
            return self.finding._replace(acao="")
        return None if self.fault else self.finding


def read_answer(completion: str) -> list[object] | None:
    """Return the findings of an answer, unchecked; None where it cannot be used, whatever text it is."""
    read = read_evidence(completion, {"achados"}, "achados", MAX_CHARACTERS)
    return read["achados"] if read and 1 <= len(read["achados"]) <= MOST else None


def check(table: FigureTable, findings: Sequence[object]) -> list[Checked]:
    """Return each finding of an answer with its fault, none where all of it holds."""
    checked: list[Checked] = []
    cells: set[Cell] = set()
    taken: dict[str, str] = {}
    for finding in map(_read, findings):
        fault = _own_fault(table, finding) if finding else Fault.FORM
        if finding and fault is not Fault.FALSE:
            fault = Fault.REPEATED if finding.cell in cells else fault
            cells.add(finding.cell)
        if finding and fault is None and (action := finding.acao):
            fault = Fault.ACTION if action in taken or is_opposed(action, finding.linha, taken) else None
            taken |= {} if fault else {action: finding.linha}
        checked.append(Checked(finding, fault))
    return checked


def _read(found: object) -> CitedFinding | None:
    if type(found) is not dict or found.keys() != (KEYS | {"outra"} if found.get("fato") == "razao" else KEYS):
        return None
    is_known = set(map(type, found.values())) == {str} and (not found["acao"] or found["acao"] in ACTIONS)
    return CitedFinding(**found) if is_known else None


@lru_cache(maxsize=KEPT)
def _own_fault(table: FigureTable, finding: CitedFinding) -> Fault | None:
    """Return the fault that a finding has whatever stands before it; kept, since rollouts of a prompt repeat them."""
    if not is_true(table, finding):
        return Fault.FALSE
    return None if not finding.acao or fits(table, finding, ACTIONS[finding.acao]) else Fault.ACTION


def is_true(table: FigureTable, finding: CitedFinding) -> bool:
    """Return whether row, column and value are the table's, and the fact is true of them."""
    row, title = finding.cell
    if finding.fato not in table.facts.get((row, title), ()) or finding.valor != table.texts[row, title]:
        return False
    return finding.fato != "razao" or (finding.outra in table.rows and table.times(row, finding.outra, title))


def is_opposed(action: str, row: str, taken: Mapping[str, str]) -> bool:
    """Return whether an action contradicts one of the taken ones, by their rows, on its own row."""
    others = [other for other, on in taken.items() if on == row]
    return any(action in ACTIONS[other].opostos or other in ACTIONS[action].opostos for other in others)


def fits(table: FigureTable, finding: CitedFinding, action: Any) -> bool:
    """Return whether an action makes sense beside a true finding: column, kind of row, side, and few orders."""
    row = finding.linha
    if table.kind not in action.linhas or table.columns[finding.coluna].como not in action.colunas:
        return False
    if (row in table.unsure and not action.leve) or (action.promove and row in table.worst):
        return False
    if (action.amostra and row not in table.few) or (action.divulga and row in table.regulated):
        return False
    # A rise from a very bad month is none to promote, so that the cell must lie on the side as well.
    facts = (finding.fato, "valor") if action.promove else (finding.fato,)
    return action.lado == "ambos" or all(_side(table, finding.cell, fact) == action.lado for fact in facts)


def _side(table: FigureTable, cell: Cell, fact: str) -> str:
    """Return the side on which the true fact of a cell lies, `alto` or `baixo`; nothing where nobody need act.

    It is that of the median, of a change that of the month before. A column's own floor must be passed too: a delay of
    3 % asks for nothing because it is the highest of the table.
    """
    row, title = cell
    own, column = table.figures[cell], table.columns[title]
    gap = table.gap(row, title, table.before[row] if fact in ("subiu", "caiu") else None)
    if gap >= 1 and (column.age_acima is None or own >= column.age_acima):
        return "alto"
    is_low = gap <= -1 and fact != "razao" and (column.age_abaixo is None or own <= column.age_abaixo)
    return "baixo" if is_low else ""


def _worth(table: FigureTable, cell: Cell, fact: str) -> float:
    """Return how informative a true claim is, in [0, 1)."""
    return SHARES.get(fact, 1.0) * table.salience[cell]


def _hides(table: FigureTable, said: Mapping[Cell, float]) -> bool:
    """Return whether a row's cells are said by their worths, and not a bad one of the row that says more."""
    bad = {cell: _worth(table, cell, table.facts[cell][0]) for cell in table.bad - said.keys()}
    return any(row == its and own > worth for (row, _), worth in said.items() for (its, _), own in bad.items())


@lru_cache(maxsize=KEPT)
def best_of(table: FigureTable, count: int = ENOUGH) -> tuple[list[CitedFinding], float, float]:
    """Return so many of the best findings, the sum of their worths, and what their actions earn.

    They are the strongest facts of the most surprising cells, with actions that fit.
    """
    facts = {cell: known[0] for cell, known in table.facts.items()}
    worths = {cell: _worth(table, cell, fact) for cell, fact in facts.items()}
    chosen = sorted(worths, key=lambda cell: (-worths[cell], STRONGEST.index(facts[cell]), cell))[:count]
    taken: dict[str, str] = {}
    findings = []
    for row, title in chosen:
        fact = facts[row, title]
        lower = [each for each in table.rows if fact == "razao" and table.times(row, each, title)]
        other = max(lower, key=lambda each: table.figures[each, title], default="")
        bare = CitedFinding(title, fact, table.texts[row, title], row, "", other)
        known = sorted(actions_on(table.kind, table.columns[title].como), key=lambda each: -each.earns)
        free = (each for each in known if each.id not in taken and not is_opposed(each.id, row, taken))
        if action := next((each.id for each in free if fits(table, bare, each)), ""):
            taken[action] = row
        findings.append(bare._replace(acao=action))
    return findings, sum(worths[cell] for cell in chosen), sum(ACTIONS[action].earns for action in taken)


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the claims, their actions and the form."""
    table, found = read_table(prompt), read_answer(completion)
    if table is None or found is None:
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    checked = check(table, found)
    worths = {said.cell: _worth(table, said.cell, said.fato) for each in checked if (said := each.said)}
    left = OF_BAD_CLAIM ** (sum(fault in (Fault.FALSE, Fault.REPEATED) for _, fault in checked) + _hides(table, worths))
    sound = [finding for finding, fault in checked if fault is None and finding]
    earned = sum(ACTIONS[each.acao].earns for each in sound if each.acao)
    best, salience, actions = best_of(table, max(ENOUGH, len(found)))
    told = min(1.0, sum(worths.values()) / salience if salience else len(worths) / len(best))
    components = {
        "claims": left * told**3,
        "actions": left * min(1.0, earned / actions if actions else len(sound) / len(best)),
        "form": left * len(sound) / max(FEWEST, len(checked)),
    }
    return Score(components, {"achados": found})


REWARD: Final = Reward(WEIGHTS, score)

TIMES_IN_WHOLE: Final = 10  # Ratio from which the sentence says it without decimals.
NO_TABLE: Final = "o pedido não traz tabela de colunas conhecidas sem linha de soma, com ` | ` entre as células"


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and write what holds of it as Markdown."""
    table = read_table(prompt)
    if table is None:
        return Served(None, False, NO_TABLE)
    found = read_answer(completion)
    if found is None:
        return Served(None, False, "a resposta não é só um objeto JSON de poucos achados")
    checked = check(table, found)
    left_out = [f"achado {place}: {each.fault}" for place, each in enumerate(checked, 1) if each.fault]
    said = {place: each.said for place, each in enumerate(checked) if each.said}
    if not said:
        return Served(None, False, "; ".join(left_out))
    heading = FRAMES.titulo["com_periodo" if table.period else "sem_periodo"].format(*table.period or ())
    text = "\n".join([heading, "", *(f"- {_line(table, finding, place)}" for place, finding in said.items())])
    parsed = {"achados": [finding._asdict() for finding in said.values()]}
    return Served(text, not left_out, "; ".join(left_out) or None, parsed)


def _line(table: FigureTable, finding: CitedFinding, place: int) -> str:
    """Return the sentence of a finding, a note on its sample, and its action.

    Of a sum, few orders are no chance but the cause, so that it has no note.
    """
    row, choice = finding.linha, sentences(table, finding)
    parts = [choice[(place + len(row)) % len(choice)]]
    if row in table.few and table.columns[finding.coluna].media:
        count, counted = table.texts[table.orders[row]], table.columns[table.orders[row][1]]
        said = (counted.um if count == "1" else counted.com).format(valor=count)
        parts.append(FRAMES.amostra.texto.format(com=said))
    if finding.acao:
        parts.append(ACTIONS[finding.acao].texto.format(**forms_of(table.kind, row)))
    return " ".join(parts)


def sentences(table: FigureTable, finding: CitedFinding) -> list[str]:
    """Return every sentence that says a true finding, one or more."""
    row, title, fact, value = finding.linha, finding.coluna, finding.fato, finding.valor
    column, before = table.columns[title], table.before.get(row, row)
    forms = forms_of(table.kind, row, column.como)
    degree = (column.graus or {}).get(fact, fact)
    said = forms | {
        "valor": value,
        "coluna": column.o.partition(" ")[2],
        "grau": degree,
        "com": (column.um if value == "1" and column.um else column.com).format(valor=value),
        "o": column.o,
        "o_linha": forms["o"],
        "pron": column.pron,
        "max": column.o.replace(" ", f" {degree} ", 1),
        "antes": table.texts[before, title],
    }
    if fact in ("acima", "abaixo"):
        sign, unit = "R$ " * value.startswith("R$"), "%" * value.endswith("%")
        median, places = table.medians[title], table.places[title]
        if median != round(median, places):
            places = max(places + 1, 2 if sign else 0)
        said["mediana"] = f"{sign}{decimal(median, places)}{unit}"
    if fact == "razao":
        ratio = table.figures[row, title] / table.figures[finding.outra, title]
        times = round(ratio, 1 if ratio < TIMES_IN_WHOLE else 0)
        said["vezes"] = f"{'' if times == ratio else 'cerca de '}{decimal(times).removesuffix(',0')} vezes"
        said["de_outra"] = forms_of(table.kind, finding.outra, column.como)["de"]
        said["valor_outra"] = table.texts[finding.outra, title]
    said |= {key.capitalize(): text[:1].upper() + text[1:] for key, text in said.items()}
    return [
        frame.texto.format(**said)
        for frame in FRAMES.frases
        if fact in frame.fatos
        and (not frame.colunas or column.como in frame.colunas)
        and (forms["o"] or "_linha}" not in frame.texto)
    ]


V42_WEIGHTS: Final = {"actions": 0.40, "length": 0.30, "structure": 0.20, "domain": 0.10}
ENOUGH_MARKS, ENOUGH_DOMAIN = 4, 2  # Verbs of action or marks of structure, and words of a shop, for all of a part.
_MARK: Final = re.compile(r"^[ \t]*(?:[-*•–—#]|\d{1,2}[.)])[ \t]*\S", re.MULTILINE)
_BEGINNINGS: Final = [
    re.compile("|".join(sorted(map(fold, read_lexicon(name)), key=len, reverse=True)))
    for name in ("report_action_words", "domain_words")
]


def v42_score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the rendered findings by the V4.2 report's appendix, continuous where a part can be.

    - `actions`, .40: different verbs of action, up to four. Gamed by a heap of actions.
    - `length`, .30: 1 from 100 to 800 characters, falling to 0 at none and at 1600. Gamed by any text of that length.
    - `structure`, .20: marks of headings, list items and bold type, up to four. Gamed by findings that say little.
    - `domain`, .10: different words of a shop, up to two. Gamed by any two columns.
    """
    text = render(completion, prompt).text or ""
    found = (map(known.match, words(text)) for known in _BEGINNINGS)
    verbs, domain = (len({each[0] for each in matches if each}) for matches in found)
    marks = len(_MARK.findall(text)) + text.count("**") // 2
    return Score(
        {
            "actions": min(verbs, ENOUGH_MARKS) / ENOUGH_MARKS,
            "length": ramp(len(text), 0, 100) * ramp(len(text), 1600, 800),
            "structure": min(marks, ENOUGH_MARKS) / ENOUGH_MARKS,
            "domain": min(domain, ENOUGH_DOMAIN) / ENOUGH_DOMAIN,
        }
    )


V42_REWARD: Final = Reward(V42_WEIGHTS, v42_score)
