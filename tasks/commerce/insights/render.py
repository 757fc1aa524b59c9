"""Portuguese Markdown of an answer: a heading, and for each finding that holds its sentence, its sample and its action.

Every word is of `data/evidence` or of the table: the answer says which sentence, and none of its own text is shown.
The V4.2 report's reward is of this text.
"""

import re
from collections.abc import Set as AbstractSet
from typing import Final

from tasks.commerce.insights.checker import Checked, CitedFinding, actions, check, read_answer
from tasks.commerce.insights.phrases import Words, read_phrases
from tasks.commerce.insights.table import FigureTable, read_table
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.served import Served
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, ramp, words

DATA_FILES: Final = (
    "data/lexicons/domain_words.txt",
    "data/lexicons/report_action_words.txt",
)


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and write what holds of it as Markdown."""
    table = read_table(prompt)
    if table is None:
        return Served(None, False, "o pedido não traz tabela de colunas conhecidas, com ` | ` entre as células")
    found = read_answer(completion)
    if found is None:
        return Served(None, False, "a resposta não é só um objeto JSON de poucos achados")
    checked = check(table, found)
    lines = [line for place, each in enumerate(checked) if (line := _line(table, each, place))]
    left_out = [f"achado {place}: {each.fault}" for place, each in enumerate(checked, 1) if each.fault]
    if not lines:
        return Served(None, False, "; ".join(left_out))
    text = "\n".join([_heading(table), "", *(f"- {line}" for line in lines)])
    said = [(each.said._replace(acao="") if each.fault else each.said)._asdict() for each in checked if each.said]
    return Served(text, not left_out, "; ".join(left_out) or None, {"achados": said})


def _heading(table: FigureTable) -> str:
    titles = read_phrases().titulo
    if table.period is None:
        return titles["sem_periodo"]
    return titles["com_periodo"].format(inicio=table.period[0], fim=table.period[1])


def _line(table: FigureTable, checked: Checked, place: int) -> str:
    """Return a finding with its action; nothing where its claim does not hold."""
    finding = checked.said
    if finding is None:
        return ""
    choice = sentences(table, finding)
    parts = [choice[(place + len(finding.linha)) % len(choice)], sample_note(table, finding)]
    if finding.acao and checked.fault is None:
        parts.append(actions()[finding.acao].texto.format(**read_phrases().forms(table.kind, finding.linha)))
    return " ".join(filter(None, parts))


def sample_note(table: FigureTable, finding: CitedFinding) -> str:
    """Return the sentence on a mean or a rate of few orders; of a sum, few orders are no chance but the cause."""
    orders = next((title for title, column in table.columns.items() if column.como == "pedidos"), "")
    if finding.linha not in table.few or not table.columns[finding.coluna].media:
        return ""
    text = table.texts[finding.linha, orders]
    return read_phrases().amostra["um" if text == "1" else "varios"].format(n=text)


def sentences(table: FigureTable, finding: CitedFinding) -> list[str]:
    """Return every sentence that says a true finding, one or more."""
    row, title = finding.linha, finding.coluna
    column = table.columns[title]
    words = read_phrases().forms(table.kind, row)
    value = finding.valor
    com = column.um if value == "1" and column.um else column.com
    degree = column.graus.get(finding.fato, finding.fato)
    most = column.o.replace(" ", f" {degree} ", 1)
    words |= {"valor": value, "coluna": title.lower(), "grau": degree, "com": com.format(valor=value)}
    words |= {"o": column.o, "pron": column.pron, "max": most}
    words |= {"em": words["somado"]} if column.soma and "somado" in words else {}
    words |= _other_words(table, finding)
    words |= {"O": _capital(column.o), "Max": _capital(most), "Em": _capital(words["em"])}
    return [
        frame.texto.format(**words)
        for frame in read_phrases().frases
        if finding.fato in frame.fatos
        and (not frame.colunas or column.como in frame.colunas)
        and ("o_linha" in words or "_linha}" not in frame.texto)
    ]


def _other_words(table: FigureTable, finding: CitedFinding) -> Words:
    row, title, fact = finding.linha, finding.coluna, finding.fato
    forms = read_phrases().forms(table.kind, row)
    words = {"o_linha": forms["o"], "O_linha": _capital(forms["o"])} if "o" in forms else {}
    if fact in ("acima", "abaixo"):
        words["mediana"] = _like(table.medians[title], finding.valor, table.places[title])
    if fact == "razao":
        ratio = table.figures[row, title] / table.figures[finding.outra, title]
        words["vezes"] = f"cerca de {_number(ratio, 1).removesuffix(',0')} vezes"
        words["de_outra"] = read_phrases().forms(table.kind, finding.outra)["de"]
        words["valor_outra"] = table.texts[finding.outra, title]
    if fact in ("subiu", "caiu"):
        words["antes"] = table.texts[table.before[row], title]
    return words


def _like(number: float, cell: str, places: int) -> str:
    """Write a number as a cell of its column is written."""
    return f"{'R$ ' if cell.startswith('R$') else ''}{_number(number, places)}{'%' if cell.endswith('%') else ''}"


def _number(number: float, places: int) -> str:
    return f"{number:,.{places}f}".translate(str.maketrans(",.", ".,"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


WEIGHTS: Final = {"actions": 0.40, "length": 0.30, "structure": 0.20, "domain": 0.10}
ENOUGH: Final = 4
"""Verbs of action and structure marks that the V4.2 report's reward requires."""
ENOUGH_DOMAIN: Final = 2
_MARK: Final = re.compile(r"^[ \t]*(?:[-*•–—#]|\d{1,2}[.)])[ \t]*\S", re.MULTILINE)
_ACTIONS, _DOMAIN = (
    re.compile("|".join(sorted(map(fold, read_lexicon(name)), key=len, reverse=True)))
    for name in ("report_action_words", "domain_words")
)
"""Beginnings of words."""


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the rendered findings by the V4.2 report's appendix, continuous where a part can be.

    - `actions`, .40: different verbs of action, up to four. Gamed by a heap of actions.
    - `length`, .30: 1 from 100 to 800 characters, falling to 0 at none and at 1600. Gamed by any text of that length.
    - `structure`, .20: marks of headings, list items and bold type, up to four. Gamed by findings that say little.
    - `domain`, .10: different words of a shop, up to two. Gamed by any two columns.
    """
    text = render(completion, prompt).text or ""
    present = set(words(text))
    marks = len(_MARK.findall(text)) + text.count("**") // 2
    return Score(
        {
            "actions": min(_count(_ACTIONS, present), ENOUGH) / ENOUGH,
            "length": ramp(len(text), 0, 100) * ramp(len(text), 1600, 800),
            "structure": min(marks, ENOUGH) / ENOUGH,
            "domain": min(_count(_DOMAIN, present), ENOUGH_DOMAIN) / ENOUGH_DOMAIN,
        }
    )


def _count(beginnings: re.Pattern[str], present: AbstractSet[str]) -> int:
    return len({found[0] for word in present if (found := beginnings.match(word))})


V42_REWARD: Final = Reward(WEIGHTS, score)
