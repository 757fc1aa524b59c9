"""Numbers of an analysis: of which row and column each is said, and whether it is true there."""

import re
from dataclasses import dataclass
from itertools import combinations, cycle
from typing import Final

from tasks.commerce.insights.truth_table import MOST_NAMES, Cell, Name, SaidSentence, TruthTable
from tasks.commerce.truth_text import read_table, value_of

_TO_A_ROW: Final = re.compile(r"\s?\(|[\s,]{0,3}\(?(?:de|do|da|em|no|na|para|pra)\b\s?(?:a |o )?")
_OF_THE: Final = re.compile(r"\s?d[ao]s? ")
_DENIES: Final = re.compile(
    r"\bnao (?:tem|teve|ha|houve|registr\w+|alcanc\w+|e|foi|foram|sao) (?:\w+ ){0,2}(?:r\$ ?)?$"
)
_OF: Final = re.compile(r"\s?(?:d[oa]s [\d.]+ |d[eo]s? |em )?")
_ABOUT: Final = re.compile(
    r"(?:cerca de|quase|mais de|menos de|perto de|aproximadamente|em torno de|por volta de|uns|umas"
    r"|acima de|abaixo de|passa d[eo]s?|beira)[^\d]{0,12}$"
)
_ABOUT_OFF: Final = 0.06
"""Share of itself that a number after `cerca de` may be off."""
_SHARE_OFF, _SHARE_MORE = 1.0, 8.0
"""Points that a share of a column may be off, and that it may be above `mais de 90 %`."""
_MORE_THAN: Final = re.compile(r"(?:mais|acima) de $")
_COMPARES: Final = re.compile(
    r"\b(?:relacao|ante|comparad[oa]s?|metade|terco|quarto|dobro|triplo|vezes|que|acima|abaixo|frente|contra|mesm[oa]s?)\b[^.;]{0,25}$"
)
_OTHERS: Final = re.compile(r"[^.;\d]{0,20}\b(?:outr[oa]s|demais|restantes?)\b")
_SERIES: Final = re.compile(r"\b(?:entre|de) (?:r\$ ?)?$|\b(?:entre|de) (?:r\$ ?)?[\d.,]+ ?%? (?:e|a) (?:r\$ ?)?$")
_NO_SUMS: Final = frozenset(("ticket", "freight", "late", "rating"))
"""Columns whose cells have a mean but no sum."""
_MOVES_ON: Final = re.compile(r" ?(?:pedidos )?para (?:r\$ ?)?\d")
_MOVED: Final = re.compile(r"\d[^.;]{0,25}\bpara (?:r\$ ?)?$")
_AGAINST: Final = re.compile(r"^\([^()]*\d[^()]*\bcontra\b[^()]*\d[^()]*\)")
_OF_AN_END: Final = re.compile(r"\b(?:maior|menor|mais|menos|pico|recorde|melhor|pior|topo)\b")
_OFFERED: Final = re.compile(r" ?(?:de (?:desconto|cashback)|off\b|sem juros)")
_IN_SOME: Final = re.compile(
    r" (?:em|nos|nas) (?P<count>dois|duas|tres|quatro|cinco) (?:dias|estados|meses|categorias|formas|deles|delas)\b"
)
_PLACE: Final = re.compile(r"\b(?:prioridade|passo|acao|ponto|item|frente|numero|top|n\.) $")
_LIMIT: Final = re.compile(
    r"(?P<equal>igual ou )?\b(?:(?P<above>acima|mais|passam?|superior|superam?|ultrapassam?)|abaixo|menos|inferior)"
    r" ?(?:d[eo]s?|a|que|os?)? (?:r\$ ?)?$"
)
_NO_LIMIT: Final = re.compile(
    rf"{read_table('insights_claims')['advice']['goal']}|^[a-z]+[aei]r\b|total|junt|som[ae]|compras acima"
)
_COUNTS: Final = ("duas", "tres", "quatro", "cinco")
_QUANTITY: Final = re.compile(
    rf"(?:(?P<none>nenhum)|(?P<all>tod[oa]s)|(?:dois|(?P<count>{'|'.join(_COUNTS)})))\w* (?:[oa]s )?(?:tres |quatro )?"
    r"(?:categorias?|estados?|meses|mes|dias?|formas?|grupos?)\b"
)
_ONLY: Final = re.compile(r"(?:nas? \w+, )?(?:so|apenas|somente)\b")
_PART: Final = re.compile(
    r"\b(?P<part>\d{1,3}) (?:pedidos? )?(?:em|de|em cada|a cada) (?P<whole>\d{1,3})\b(?! dias| mes|%)"
)
_YEARS: Final = (1900, 2100)
_SPAN: Final = re.compile(r"\s?(?:dias?|horas?|semanas?|mes(?:es)?|minutos?|anos?)\b")
_COUNTED: Final = re.compile(
    r"\s?(?:\w+ )?(?:estados|categorias|meses|dias|formas|grupos|indicadores|pontos|topicos|itens|linhas|colunas|acoes"
    r"|regioes|destaques|maiores|menores|primeir|ultim|frentes|meios)"
)
_GOAL_BEFORE: Final = re.compile(
    r"^[a-z]+[aei]r\b[^.;]*\b(?:a partir de|acima de|minim\w+ de|valor de|ate|por)\s(?:r\$ ?)?$"
    r"|(?:\bmeta\b|objetivo|\balvo\b|limite|teto"
    r"|(?:reduzir|baixar|diminuir|cortar|elevar|subir|aumentar|levar|chegar|ampliar|manter|trazer|recuperar|alcancar"
    r"|atingir|crescer|melhorar|ficar)\b[^.;]{0,60}?\b(?:para|ate|em|a|abaixo de|acima de|de)\s)[^.;]{0,30}$"
)
_DERIVED: Final = re.compile(
    r"junt[oa]s|mais (?:que|do que|car[oa]|barat[oa]|alt[oa]|baix[oa])|menos (?:que|do que)"
    r"|entre |contra |perd|ganh|relacao|recuou|avancou|encolh|extra"
    r"|superou|supera |soma|\btotal|ao todo|conjunto|diferenca|distancia|a mais|a menos|acima|abaixo|alta |queda |salt"
    r"|vezes|razao|proporcao|\bx\b|dobro|maior|menor|pontos|p\.?p\.?|superior|inferior|participacao|responde"
    r"|represent|fatia|media|cresc|subi(?:u|ram|ndo)|cai(?:u|ram|ndo)|aument|diminu|reduz|\bde \d[\d.]* pedidos"
    r"|\bdos \d"
)


@dataclass(frozen=True)
class KnownFigures:
    """Numbers of an analysis."""

    quoted: frozenset[tuple[str, str]]
    """Cells that are quoted, by row and column; a sum or a difference counts as one of its own."""
    false: tuple[str, ...]
    """Sentences with a number that is none of the table's."""


def read_figures(sentences: list[SaidSentence], table: TruthTable) -> KnownFigures:
    """Return which cells the numbers quote, and which sentences hold a false one."""
    quoted: set[tuple[str, str]] = set()
    false: list[str] = []
    for sentence in sentences:
        if len(sentence.names) >= MOST_NAMES:
            false.append(sentence.text)
            continue
        numbers = [name for name in sentence.named("number") if not _is_no_figure(name, sentence, table)]
        limits = {name: _holds_as_a_limit(name, sentence, table) for name in numbers}
        rest = [name for name in numbers if limits[name] is None]
        false += [sentence.text for holds in limits.values() if holds is False]
        quoted |= {
            (sentence.text, str(name.start)) for name, holds in limits.items() if holds and sentence.named("row")
        }
        for name, rows in _bound(sentence, rest):
            said = _quoted(name, rows, sentence, table)
            quoted |= said or set()
            false += [sentence.text] if said is None else []
    return KnownFigures(frozenset(quoted), tuple(false))


def _quoted(
    name: Name, rows: tuple[str, ...], sentence: SaidSentence, table: TruthTable
) -> set[tuple[str, str]] | None:
    """Return what a number quotes of the table, nothing where it need not; None where it is false."""
    before, own = sentence.text[: name.start], (sentence.text, str(name.start))
    cell = _cell_of(name, rows, sentence, table) or _cell_of_subject(name, rows, sentence, table)
    cell = cell or _cell_by_words(name, sentence, table)
    if cell is not None:
        is_said = rows or sentence.named("column")
        return None if _DENIES.search(before) else {(cell.row, cell.column)} if is_said else set()
    if (
        _is_a_part(name, sentence, table)
        or _is_of_some(name, sentence, table)
        or _OFFERED.match(sentence.text, name.end)
    ):
        return set()
    if _may_follow(name, sentence) and _is_derived(name, sentence, table):
        return {own}
    return set() if _GOAL_BEFORE.search(before) else None


def _cell_by_words(name: Name, sentence: SaidSentence, table: TruthTable) -> Cell | None:
    """Return the cell of a number that is said of two rows at once, of where a column moved to, or of who has most."""
    before, text = sentence.text[: name.start], sentence.text
    rows = tuple(row.value for row in sentence.named("row"))
    if _MOVES_ON.match(text, name.end) or _AGAINST.search(text[before.rfind("(") :] if before.rfind("(") >= 0 else ""):
        # `Of fevereiro and março: 380 para 450`, `five times papelaria's (220 contra 41)`.
        return _cell_of(name, rows, sentence, table)
    if _MOVED.search(before):
        return _cell_of(name, (), sentence, table)
    first = next((row.start for row in sentence.named("row")), 0)
    if name.end <= first and any(name.end <= each.start < first for each in sentence.named("number")):
        # `14,3% atrasaram, o dobro dos 6,4% de outubro`: the row behind is of the second number.
        return _cell_of(name, (), sentence, table)
    cell = None if rows or not _OF_AN_END.search(text) else _cell_of(name, (), sentence, table)
    values = [each.value for each in table.column(cell.column).values()] if cell else []
    return cell if cell and cell.value in (max(values), min(values)) else None


def _is_of_some(name: Name, sentence: SaidSentence, table: TruthTable) -> bool:
    """Return whether a number is what as many rows have as are said to: `4,1 em três dias`."""
    found = _IN_SOME.match(sentence.text, name.end)
    if found is None:
        return False
    count = _COUNTS.index(found["count"]) + 2 if found["count"] in _COUNTS else 2
    columns = (table.column(column).values() for column in table.columns)
    return any(sum(abs(cell.value - name.number) <= name.off for cell in cells) == count for cells in columns)


def _cell_of_subject(name: Name, rows: tuple[str, ...], sentence: SaidSentence, table: TruthTable) -> Cell | None:
    """Return the cell of a sentence's first row, where the row before a number is what that is compared to."""
    named = sentence.named("row")
    before = [row for row in named if row.end <= name.start]
    if len(before) < 2 or rows != (before[-1].value,) or not _COMPARES.search(sentence.text[: before[-1].start]):
        return None
    # What stands in brackets behind a row, or right behind it, is its own.
    if re.fullmatch(r"\s?\(?(?:r\$ ?)?", sentence.text[before[-1].end : name.start]):
        return None
    return _cell_of(name, (before[0].value,), sentence, table)


def _may_follow(name: Name, sentence: SaidSentence) -> bool:
    """Return whether a sentence says a sum, a difference, a ratio or a share."""
    if name.unit in ("points", "times") or _DERIVED.search(sentence.text):
        return True
    return name.unit == "%" and bool(_OF_THE.match(sentence.text, name.end))


def _is_no_figure(name: Name, sentence: SaidSentence, table: TruthTable) -> bool:
    """Return whether a number is a year, a span of time of an advice, or a count of the table's rows or columns."""
    after = sentence.text[name.end :]
    if not name.unit and name.number.is_integer():
        if _YEARS[0] <= name.number < _YEARS[1] and name.off == 0.5 and not after.startswith(" pedidos"):
            known = not table.years or {name.number, name.number - 1} & table.years
            return bool(known) and not any(cell.value == name.number for cell in table.cells.values())
        counts = _COUNTED.match(after) or _PLACE.search(sentence.text[: name.start])
        if name.number <= max(len(table.rows), len(table.columns), 4) and counts:
            return True
    return bool(_SPAN.match(after) and re.search(read_table("insights_claims")["advice"]["goal"], sentence.text))


def _bound(sentence: SaidSentence, numbers: list[Name]) -> list[tuple[Name, tuple[str, ...]]]:
    """Return each number with the rows that it may be said of."""
    rows = sentence.named("row")
    if not rows:
        return [(name, sentence.carried) for name in numbers]
    ahead = [row for row in rows if not numbers or row.end <= numbers[0].start]
    if 1 < len(rows) == len(ahead) <= len(numbers) and len(numbers) % len(rows) == 0:
        # First all rows, then all numbers: respectively.
        return [(name, (row.value,)) for name, row in zip(numbers, cycle(rows), strict=False)]
    found: list[tuple[Name, tuple[str, ...]]] = []
    for place, name in enumerate(numbers):
        following = next((row for row in rows if row.start >= name.end), None)
        stop = numbers[place + 1].start if place + 1 < len(numbers) else len(sentence.text)
        before = [row for row in rows if row.end <= name.start]
        if following and following.start < stop and _TO_A_ROW.fullmatch(_between(sentence, name, following)):
            found.append((name, (following.value,)))
        elif before:
            found.append((name, (before[-1].value,)))
        else:
            found.append((name, (following.value,) if following else ()))
    return found


def _between(sentence: SaidSentence, name: Name, row: Name) -> str:
    """Return what stands between a number and a row, without the columns named there."""
    text = sentence.text[name.end : row.start]
    for column in sentence.named("column"):
        if name.end <= column.start and column.end <= row.start:
            text = re.sub(
                rf"(?:\s?(?:de|em) )?{re.escape(sentence.text[column.start : column.end])}", "", text, count=1
            )
    return text


def _cell_of(name: Name, rows: tuple[str, ...], sentence: SaidSentence, table: TruthTable) -> Cell | None:
    """Return the cell that a number quotes: of its row, of its unit, and of the nearest column where one is named."""
    off = name.off * (1 + 1e-9)
    if _ABOUT.search(sentence.text[: name.start]) or name.off > 1:
        off = max(off, _ABOUT_OFF * name.number)
    fitting = [
        cell
        for cell in table.cells.values()
        if (not rows or cell.row in rows)
        and abs(cell.value - name.number) <= off
        and (not name.unit or name.unit == cell.unit or (name.unit == "points" and not cell.unit))
    ]
    columns = _columns_near(name, sentence)
    if name.unit in ("r$", "%") and not any(
        cell.unit == name.unit for cell in table.cells.values() if cell.column in columns
    ):
        # `Nota 4,2 e R$ 5.058`: an amount is of no column without amounts, and no share of one without shares.
        columns = set()
    return next((cell for cell in fitting if cell.column in columns), None) if columns else next(iter(fitting), None)


def _columns_near(name: Name, sentence: SaidSentence) -> set[str]:
    """Return the column that a number is said to be of: `430 pedidos`, or the last before it that is of no number."""
    columns, numbers = sentence.named("column"), sentence.named("number")
    behind = {column for column in columns for number in numbers if _is_behind(column, number, sentence.text)}
    mine = {column.value for column in columns if _is_behind(column, name, sentence.text)}
    free = [column.value for column in columns if column.end <= name.start and column not in behind]
    return mine or set(free[-1:])


def _is_behind(column: Name, number: Name, text: str) -> bool:
    return number.end <= column.start and bool(_OF.fullmatch(text, number.end, column.start))


def _is_derived(name: Name, sentence: SaidSentence, table: TruthTable) -> bool:
    """Return whether a number is a sum, difference, ratio or share of cells of a column."""
    columns = {column.value for column in sentence.named("column")} or set(table.columns)
    if name.unit == "r$":
        # `15 pedidos e R$ 2.300`: an amount is of a column of amounts.
        amounts = {cell.column for cell in table.cells.values() if cell.unit == "r$"}
        columns = columns & amounts or amounts
    if _is_of_the_others(name, sentence, table, columns):
        return True
    named = {row.value for row in sentence.named("row")}
    rows = named or set(sentence.carried)
    for column in columns:
        cells = table.column(column)
        values = [cell.value for cell in cells.values()]
        chosen = [cells[row].value for row in rows if row in cells]
        some = chosen if len(rows) > 1 else values
        own = set(chosen) if len(named) == 1 else set(values)
        if _is_sum(name, some if column not in _NO_SUMS else [], values) or _is_gap(name, sentence, some, own):
            return True
        if _is_share(name, sentence, [*(chosen or values), *([sum(chosen)] if named else [])], sum(values)):
            return True
    return False


def _slack(name: Name, sentence: SaidSentence) -> float:
    """Return what a derived number may be off."""
    about = name.unit == "%" and _ABOUT.search(sentence.text[: name.start])
    return name.off * (1 + 1e-9) + 1e-9 + (_SHARE_OFF * 2 if about else 0.0)


def _is_sum(name: Name, chosen: list[float], values: list[float]) -> bool:
    """Return whether a number is a sum of cells, or all of them or their mean; each of a sum is itself rounded."""
    if name.unit not in ("", "r$") or not values:
        return False
    sums = [sum(each) for size in range(2, len(chosen) + 1) for each in combinations(chosen, size)]
    sums += [sum(values)] if chosen else []
    off = name.off * (1 + len(chosen)) + 1e-9
    mean = sum(values) / len(values)
    return abs(mean - name.number) <= name.off + 1e-9 or any(
        abs(each - name.number) <= off for each in sums if each > 0
    )


def _is_gap(name: Name, sentence: SaidSentence, values: list[float], own: set[float]) -> bool:
    """Return whether a number is a difference or ratio of two cells, one of them the row's own; a share is none."""
    if name.unit == "%" and _OF_THE.match(sentence.text, name.end):
        return False
    off = _slack(name, sentence) + 0.1 * (name.unit == "times")
    for one, other in combinations(values, 2):
        high, low = max(one, other), min(one, other)
        found = [high - low] if name.unit != "times" else []
        if low > 0:
            found += [high / low] if name.unit in ("times", "") else []
            found += [100 * (high / low - 1), 100 * (1 - low / high)] if name.unit == "%" else []
        if {one, other} & own and any(abs(each - name.number) <= off for each in found):
            return True
    return False


def _is_share(name: Name, sentence: SaidSentence, parts: list[float], total: float) -> bool:
    if name.unit != "%" or total <= 0:
        return False
    more = _SHARE_MORE if _MORE_THAN.search(sentence.text[: name.start]) else _SHARE_OFF
    most = max(_slack(name, sentence), more)
    return any(-_SHARE_OFF <= 100 * part / total - name.number <= most for part in parts)


def _is_of_the_others(name: Name, sentence: SaidSentence, table: TruthTable, columns: set[str]) -> bool:
    """Return whether a number is what all rows but the named have (`contra R$ 16 nos outros`), or a series' end."""
    others = _OTHERS.match(sentence.text, name.end) is not None
    if not others and not _SERIES.search(sentence.text[: name.start]):
        return False
    named = {row.value for row in sentence.named("row")} or set(sentence.carried)
    for column in columns:
        values = [cell.value for row, cell in table.column(column).items() if not others or row not in named]
        ends = set(values) if others and len(set(values)) == 1 else set() if others else {min(values), max(values)}
        if any(abs(end - name.number) <= name.off for end in ends):
            return True
    return False


def _holds_as_a_limit(name: Name, sentence: SaidSentence, table: TruthTable) -> bool | None:
    """Return whether the rows that are said to be above or below a number are; None where none are.

    `Só A passa de 10 %` says so of no other row, `nenhuma` of none, `todas` of all, `três categorias` of three.
    """
    text = sentence.text
    limit = _LIMIT.search(text[: name.start])
    if limit is None or _OF_THE.match(text, name.end) or _NO_LIMIT.search(text):
        return None
    columns = [name.value for name in sentence.named("column") if table.columns] or list(table.columns)
    cells = [cell for column in columns for cell in table.column(column).values() if name.unit in ("", cell.unit)]
    if len({cell.column for cell in cells}) != 1:
        return None
    beyond = {cell.row for cell in cells if (cell.value > name.number if limit["above"] else cell.value < name.number)}
    if limit["equal"]:
        beyond |= {cell.row for cell in cells if cell.value == name.number}
    rows = {row.value for row in sentence.named("row") if row.end <= limit.start()}
    if quantity := _QUANTITY.match(text):
        said = quantity["count"]
        count = _COUNTS.index(said) + 2 if said else 2
        return len(beyond) == (0 if quantity["none"] else len(cells) if quantity["all"] else count)
    return rows == beyond if _ONLY.match(text) else rows <= beyond if rows else None


def _is_a_part(name: Name, sentence: SaidSentence, table: TruthTable) -> bool:
    """Return whether a number is one of `1 pedido em 6`, which is a share that the table has."""
    for found in _PART.finditer(sentence.text):
        if found.start() <= name.start < found.end() and (whole := value_of(found["whole"])) > 0:
            share = 100 * value_of(found["part"]) / whole
            return any(cell.unit == "%" and abs(cell.value - share) <= _SHARE_OFF for cell in table.cells.values())
    return False
