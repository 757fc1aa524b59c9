"""Portuguese Markdown of an answer: a heading, and for each finding that holds its sentence, its sample and its action.

Every word is of `data/evidence` or of the table: the answer says which sentence, and none of its own text is shown.
"""

from typing import NamedTuple

from tasks.commerce.evidence.checker import Checked, CitedFinding, actions, check, read_answer
from tasks.commerce.evidence.phrases import Words, read_phrases
from tasks.commerce.evidence.table import FigureTable, read_table


class Rendered(NamedTuple):
    """An answer as people read it."""

    text: str | None
    """Markdown of the findings that hold; None where none does."""
    checked: bool
    """Whether all of the answer holds, so that nothing was left out."""
    reason: str | None
    """What was left out, or why nothing can be shown; it repeats no text of the answer."""


def render(completion: str, prompt: str) -> Rendered:
    """Check an answer to a prompt and write what holds of it."""
    table = read_table(prompt)
    if table is None:
        return Rendered(None, False, "the prompt has no table whose columns are known")
    found = read_answer(completion)
    if isinstance(found, str):
        return Rendered(None, False, found)
    checked = check(table, found)
    lines = [line for place, each in enumerate(checked) if (line := _line(table, each, place))]
    left_out = [
        f"finding {place} has a wrong {each.fault.value}" for place, each in enumerate(checked, 1) if each.fault
    ]
    text = "\n".join([_heading(table), "", *(f"- {line}" for line in lines)]) if lines else None
    return Rendered(text, not left_out, "; ".join(left_out) or None)


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
    """Return the sentence on a row of few orders; the number of orders says it of itself."""
    orders = next((title for title in table.columns if title.lower() == "pedidos"), "")
    if finding.linha not in table.few or finding.coluna == orders:
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
    most = column.o.replace(" ", f" {finding.fato} ", 1)
    words |= {"valor": value, "coluna": title.lower(), "grau": finding.fato, "com": com.format(valor=value)}
    words |= {"o": column.o, "pron": column.pron, "max": most}
    words |= _other_words(table, finding)
    words |= {"O": _capital(column.o), "Max": _capital(most), "Em": _capital(words["em"])}
    return [
        frame.texto.format(**words)
        for frame in read_phrases().frases
        if finding.fato in frame.fatos
        and (not frame.colunas or title.lower() in frame.colunas)
        and ("o_linha" in words or "_linha}" not in frame.texto)
    ]


def _other_words(table: FigureTable, finding: CitedFinding) -> Words:
    row, title, fact = finding.linha, finding.coluna, finding.fato
    forms = read_phrases().forms(table.kind, row)
    words = {"o_linha": forms["o"], "O_linha": _capital(forms["o"])} if "o" in forms else {}
    if fact in ("acima", "abaixo"):
        words["mediana"] = _like(table.medians[title], [table.texts[each, title] for each in table.rows])
    if fact == "razao":
        ratio = table.figures[row, title] / table.figures[finding.outra, title]
        words["vezes"] = f"cerca de {_number(ratio, 1).removesuffix(',0')} vezes"
        words["de_outra"] = read_phrases().forms(table.kind, finding.outra)["de"]
        words["valor_outra"] = table.texts[finding.outra, title]
    if fact in ("subiu", "caiu"):
        words["antes"] = table.texts[table.before[row], title]
    return words


def _like(number: float, cells: list[str]) -> str:
    """Write a number as the cells of its column are written."""
    places = max(len(cell.rstrip("%").partition(",")[2]) for cell in cells)
    return (
        f"{'R$ ' if cells[0].startswith('R$') else ''}{_number(number, places)}{'%' if cells[0].endswith('%') else ''}"
    )


def _number(number: float, places: int) -> str:
    return f"{number:,.{places}f}".translate(str.maketrans(",.", ".,"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
