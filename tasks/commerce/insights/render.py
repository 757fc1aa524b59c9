"""Portuguese Markdown of an answer: a heading, and for each finding that holds its sentence, its sample and its action.

Every word is of `data/evidence` or of the table: the answer says which sentence, and none of its own text is shown.
The V4.2 report's reward is of this text.
"""

import re
from typing import Any, Final

from tasks.commerce.insights.scorer import CitedFinding, check, read_answer
from tasks.commerce.insights.table import FigureTable, actions, forms_of, frames, read_table
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.served import Served
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese import decimal
from tasks.commerce.text.text_form import fold, ramp, words

TIMES_IN_WHOLE: Final = 10  # Ratio from which the sentence says it without decimals.
NO_TABLE: Final = "o pedido não traz tabela de colunas conhecidas sem linha de soma, com ` | ` entre as células"
DATA_FILES: Final = ("data/lexicons/domain_words.txt", "data/lexicons/report_action_words.txt")


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and write what holds of it as Markdown."""
    table = read_table(prompt)
    if table is None:
        return Served(None, False, NO_TABLE)
    found = read_answer(completion)
    if found is None:
        return Served(None, False, "a resposta não é só um objeto JSON de poucos achados")
    checked = check(table, found)
    said = [
        (place, finding if each.fault is None else finding._replace(acao=""))
        for place, each in enumerate(checked)
        if (finding := each.said)
    ]
    left_out = [f"achado {place}: {each.fault}" for place, each in enumerate(checked, 1) if each.fault]
    if not said:
        return Served(None, False, "; ".join(left_out))
    heading = frames().titulo["com_periodo" if table.period else "sem_periodo"].format(*table.period or ())
    text = "\n".join([heading, "", *(f"- {_line(table, finding, place)}" for place, finding in said)])
    parsed = {"achados": [finding._asdict() for _, finding in said]}
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
        parts.append(frames().amostra.texto.format(com=said))
    if finding.acao:
        parts.append(actions()[finding.acao].texto.format(**forms_of(table.kind, row)))
    return " ".join(parts)


def sentences(table: FigureTable, finding: CitedFinding) -> list[str]:
    """Return every sentence that says a true finding, one or more."""
    row, title, fact, value = finding.linha, finding.coluna, finding.fato, finding.valor
    column = table.columns[title]
    forms = _forms_beside(column, table.kind, row)
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
        said["de_outra"] = _forms_beside(column, table.kind, finding.outra)["de"]
        said["valor_outra"] = table.texts[finding.outra, title]
    if fact in ("subiu", "caiu"):
        said["antes"] = table.texts[table.before[row], title]
    said |= {f"{key[0].upper()}{key[1:]}": f"{text[:1].upper()}{text[1:]}" for key, text in said.items()}
    return [
        frame.texto.format(**said)
        for frame in frames().frases
        if fact in frame.fatos
        and (not frame.colunas or column.como in frame.colunas)
        and (forms["o"] or "_linha}" not in frame.texto)
    ]


def _forms_beside(column: Any, kind: str, row: str) -> dict[str, str]:
    """Return the forms of a row's name beside a column, of which a kind may have some of its own."""
    forms = forms_of(kind, row)
    return forms | {key: forms.get(f"{key}_{column.como}", forms.get(key, "")) for key in ("em", "de", "o")}


WEIGHTS: Final = {"actions": 0.40, "length": 0.30, "structure": 0.20, "domain": 0.10}
ENOUGH, ENOUGH_DOMAIN = 4, 2  # Verbs of action and structure marks, and words of a shop, that V4.2's reward requires.
_MARK: Final = re.compile(r"^[ \t]*(?:[-*•–—#]|\d{1,2}[.)])[ \t]*\S", re.MULTILINE)
_BEGINNINGS: Final = {
    name: re.compile("|".join(sorted(map(fold, read_lexicon(name)), key=len, reverse=True)))
    for name in ("report_action_words", "domain_words")
}


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the rendered findings by the V4.2 report's appendix, continuous where a part can be.

    - `actions`, .40: different verbs of action, up to four. Gamed by a heap of actions.
    - `length`, .30: 1 from 100 to 800 characters, falling to 0 at none and at 1600. Gamed by any text of that length.
    - `structure`, .20: marks of headings, list items and bold type, up to four. Gamed by findings that say little.
    - `domain`, .10: different words of a shop, up to two. Gamed by any two columns.
    """
    text = render(completion, prompt).text or ""
    present = words(text)
    found = (map(known.match, present) for known in _BEGINNINGS.values())
    verbs, domain = (len({each[0] for each in matches if each}) for matches in found)
    marks = len(_MARK.findall(text)) + text.count("**") // 2
    return Score(
        {
            "actions": min(verbs, ENOUGH) / ENOUGH,
            "length": ramp(len(text), 0, 100) * ramp(len(text), 1600, 800),
            "structure": min(marks, ENOUGH) / ENOUGH,
            "domain": min(domain, ENOUGH_DOMAIN) / ENOUGH_DOMAIN,
        }
    )


V42_REWARD: Final = Reward(WEIGHTS, score)
