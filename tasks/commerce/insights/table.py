"""Table of a prompt with the facts that are true of each cell and its salience, and the data that findings are made of.

Facts are lookups of the figures as they are printed, each what its sentence says to a reader of the table:

- `maior`, `menor`, `melhor`, `pior` are strict: of two equal leaders neither is "a maior".
- `acima` and `abaixo` compare with the median, by more than 3 %. Of two rows there is no middle.
- `razao` begins at twice, since people say per cents below. It names the other row.
- `subiu` and `caiu` compare with the calendar month before, by more than 3 %.

A comparison needs a column whose cells are all read, in its unit and with as many decimals as most of them: beside
"R$ -" nothing is the highest. A mean or a rate of a row whose orders cannot be counted says nothing, and one of many
orders is compared with no row but those of few: of what it says the sample note would be missing.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final

from tasks.commerce.regulated import is_sensitive, law_on
from tasks.commerce.text.lexicons import Entry, read_data, read_entries
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/evidence/actions.toml", "data/evidence/frames.toml", "data/evidence/retail.toml")
Cell = tuple[str, str]
OTHER: Final = "outra"  # The kind of rows that are none of those that are known.
NOTABLE, HAIR = 0.03, 5e-10  # Share of a figure from which a difference counts, and what a binary one may be off.
RATIO, MOST_TIMES = 2.0, 99.0  # Ratios that are told: a larger one is no news, or a slip.
SMALL_SAMPLE, DOUBTED = 30, 10  # Orders below which a mean may be chance, and at which half its surprise is believed.
FEW_PARTS, LEAST_SUM = (2, 3), 1_000  # Rows whose sum is no chance: in all of several columns, or in one of so much.
MAX_ROWS: Final = 31  # A row for each state, or for each day of a month.
KEPT_TABLES, MOST_MONTHS = 256, 36
_LATIN: Final = "A-Za-zÀ-ÖØ-öø-ſ0-9"
_NAME: Final = re.compile(
    r"(?!.*(?://|\.\w|\w\w\. +[A-ZÀ-Þ]|\d(?:[ ().,/-]*\d){7}))"
    rf"[{_LATIN}](?:[{_LATIN}ªº%_ ,.&+/()'-]{{0,38}}[{_LATIN}ªº%)])?"
)
"""Names of rows: Latin letters and plain signs, no sentences, and nothing that a program would make a link of."""
_WHOLE: Final = r"[1-9]\d{0,2}(?:\.\d{3}){1,3}|0|[1-9]\d{0,11}"
_UNITS: Final = {
    "R$": re.compile(rf"R\$ ?((?:{_WHOLE})(?:,\d\d?)?)", re.ASCII),
    "%": re.compile(r"(100(?:,0+)?|\d\d?(?:,\d{1,4})?)%", re.ASCII),
    "unidades": re.compile(rf"({_WHOLE})", re.ASCII),
    "nota": re.compile(r"([1-4](?:,\d{1,4})?|5(?:,0+)?)", re.ASCII),
}
_MONTH: Final = "(?:jan|fev|mar|abr|mai|jun|jul|ago|set|out|nov|dez)/(?:19|20)[0-9]{2}"
_PERIOD: Final = re.compile(f"^Período: ({_MONTH}) a ({_MONTH})$", re.MULTILINE)
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")
_ARTICLES: Final = {"nenhum": ("em", "de", ""), "o": ("no", "do", "o"), "a": ("na", "da", "a")}


@cache
def frames() -> Any:
    """Return sentences, forms of names and lists of rows."""
    return read_entries("evidence/frames.toml")


@cache
def figure_columns() -> Mapping[str, Any]:
    """Return the columns by their names in small letters; one that is as another has all of that one but its noun."""
    known: Mapping[str, Any] = frames().colunas
    # Keys that are there are found faster, and each rollout asks for them.
    none = dict.fromkeys(frames().ausentes)
    return {name: Entry(none | {"como": name} | known[own.get("como", name)] | own) for name, own in known.items()}


@cache
def actions() -> Mapping[str, Any]:
    """Return the catalogue by the actions' ids."""
    none = dict.fromkeys(("opostos", "leve", "amostra", "promove", "divulga"))
    return {each.id: Entry(none | each) for each in read_entries("evidence/actions.toml").acoes}


@cache
def actions_on(kind: str, column: str) -> tuple[Any, ...]:
    """Return the actions that a kind of rows and a column, by the one that it is as, may have."""
    return tuple(each for each in actions().values() if kind in each.linhas and column in each.colunas)


@cache
def _states() -> dict[str, str]:
    return {fold(written): name for code, name in frames().siglas.items() for written in (code, name)}


@cache
def _retail() -> frozenset[str]:
    """Return the categories of the ordinary retail, which may be advertised without a person's look."""
    return frozenset(map(fold, read_data("evidence/retail.toml")["categorias"]))


def _plain_name(row: str) -> str:
    """Return the state that a name or code is of, and any other name in small letters without accents."""
    return _states().get(fold(row), fold(row))


def _month_of(row: str) -> int | None:
    """Return the place of a row's month in the count of all months; None where it is no month of a year."""
    name, _, year = row.partition("/")
    return 12 * int(year) + frames().meses.index(name) if name in frames().meses and _YEAR.fullmatch(year) else None


def _period_of(prompt: str, months: Iterable[int]) -> tuple[str, str] | None:
    """Return the first and the last month of a prompt's period; None where it is no such, or leaves a row's out."""
    periods, short = _PERIOD.findall(prompt), [month[:3] for month in frames().meses]
    ends = [12 * int(each[4:]) + short.index(each[:3]) for each in chain.from_iterable(periods)]
    span = range(ends[0], ends[1] + 1) if len(periods) == 1 else ()
    return periods[0] if 0 < len(span) <= MOST_MONTHS and all(month in span for month in months) else None


def _kind_of(kind: str, row: str) -> str:
    """Return the kind of a row of a table of a kind: `OTHER` where its name is none that is known."""
    known = {
        "estado": fold(row) in _states(),
        "estado do vendedor": fold(row) in _states(),
        "mês": _month_of(row) is not None,
        "dia da compra": row in frames().dias,
        "pagamento": fold(row) in frames().pagamentos,
    }
    return kind if kind in frames().linhas and known.get(kind, True) else OTHER


def forms_of(kind: str, row: str) -> dict[str, str]:
    """Return the forms of a row's name: in it, of it, towards it, and as a subject where it has one."""
    month, _, year = row.partition("/")
    articles = (_ARTICLES[key] for key, names in frames().artigos.items() if _plain_name(row) in names)
    words = dict(zip(("no", "do", "art"), next(articles, ("", "", "")), strict=True))
    words |= {"nome": row, "mes": f"{month} de {year}"}
    words |= dict(zip(("dia_em", "dia_de"), frames().dias.get(row, ("", "")), strict=True))
    templates = {"ser": "é", "ficar": "fica"} | frames().linhas[_kind_of(kind, row)]
    return {key: " ".join(text.format(**words).split()) for key, text in templates.items()} | {"nome": row}


@dataclass(eq=False)
class FigureTable:
    """A table as it is printed, and what is known of it."""

    kind: str
    """What its rows are, in small letters, such as `estado`."""
    columns: Mapping[str, Any]
    """Those that the phrases know, by their titles."""
    texts: Mapping[Cell, str]
    figures: Mapping[Cell, float]
    """Of the cells that hold a figure."""
    places: Mapping[str, int]
    rows: tuple[str, ...]
    """Those that have findings."""
    compared: tuple[str, ...]
    """All, those of what others leave too, such as `Outros`."""
    orders: Mapping[str, Cell]
    """The cell that counts the fewest orders of each row, in a table that counts them."""
    few: frozenset[str]
    """The rows behind which few orders stand, as far as the table counts them."""
    uncounted: frozenset[str]
    """The rows whose orders cannot be read in a table that counts them."""
    medians: Mapping[str, float]
    """Of the columns that can be compared."""
    before: Mapping[str, str]
    """The row of the calendar month before a row's, where the table has it."""
    doubted: bool
    """Whether a row is compared whose name no list has, so that nobody knows of which rows the median is."""
    period: tuple[str, str] | None
    regulated: set[str]
    """The rows of which a law forbids or restricts the promotion, and categories that are no ordinary retail's."""
    bad: set[Cell] = field(default_factory=set, init=False)
    """The cells with a fact that are plainly bad."""
    worst: set[str] = field(default_factory=set, init=False)
    """The rows than which no other is worse in a column that is judged, or that are bad in one by its floors."""
    facts: dict[Cell, frozenset[str]]
    salience: dict[Cell, float]
    """How surprising each cell with a figure is, in [0, 1)."""

    def is_unsure(self, row: str) -> bool:
        """Return whether few or uncounted orders stand behind a row."""
        return row in self.few or row in self.uncounted

    def times(self, row: str, other: str, title: str) -> bool:
        """Return whether a row has twice the other's figure, however both were rounded, neither by few orders."""
        known = self.columns[title]
        if row == other or self.is_unsure(row) or self.is_unsure(other) or not known.vezes or title not in self.medians:
            return False
        own, its, half = self.figures[row, title], self.figures[other, title], _half(known, self.places[title])
        return its > 0 and own <= MOST_TIMES * its and own - half >= round(RATIO * (its + half), 9)

    def gap(self, row: str, title: str, other: str | None = None) -> float:
        """Return the distance of a cell from the median, or from another row, in steps that are worth a word."""
        if title not in self.medians:
            return 0.0
        base = self.medians[title] if other is None else self.figures[other, title]
        known = self.columns[title]
        step = known.passo * abs(base) if known.relativo else known.passo
        # Rounded, since 4,1 and 4,0 are a binary hair less than a step of 0,1 apart.
        return round((self.figures[row, title] - base) / (step or 1.0), 9)


def _half(column: Any, places: int) -> float:
    """Return half of the last digit of a column's figures, as far as they may be rounded."""
    return 0.0 if column.unidade == "unidades" else 0.5 * 10.0**-places


@lru_cache(maxsize=KEPT_TABLES)
def read_table(prompt: str) -> FigureTable | None:
    """Read the table of a prompt, whose cells ` | ` separates; None where it has none that findings can be made of.

    That is: one block of lines of one width, distinct row names of letters and plain signs (SP and São Paulo are one),
    a known column with a figure, no row that sums up others, and nothing beside them that makes each figure another.
    """
    block = _read_block(prompt)
    if not block:
        return None
    (head, *titles), *body = block
    kind, names = head.lower(), tuple(line[0] for line in body)
    columns = {title: known for title in titles if (known := figure_columns().get(title.lower()))}
    pairs = ((row, title, cell) for row, *cells in body for title, cell in zip(titles, cells, strict=True))
    texts = {(row, title): cell for row, title, cell in pairs if title in columns}
    figures: dict[Cell, float] = {}
    places = {title: _read_column(title, names, texts, column.unidade, figures) for title, column in columns.items()}
    # A row without a figure that is named as a kind begins another table.
    read = {row for row, _ in figures}
    if any(row not in read and row.lower() in {*frames().linhas} - {OTHER} | {kind} for row in names):
        return None
    # Such as `Total 2018`, or a region beside states.
    sums = "|".join(frames().somas[key] for key in ("todas", kind) if key in frames().somas)
    if any(re.fullmatch(sums, fold(row)) for row in names) or _has_sum(names, columns, figures, places):
        return None
    named = [row for row in names if not re.fullmatch(frames().restos, fold(row))]
    # Beside names that a list has, another may be a goal, a change or a sum.
    rows = tuple(row for row in named if kind not in frames().linhas or _kind_of(kind, row) == kind)
    laws = {row: law_on(row) for row in rows}
    if not rows or not all(_NAME.fullmatch(row) and not (law and law[1].recusa) for row, law in laws.items()):
        return None
    whole = [title for title in columns if all((row, title) in figures for row in names)]
    counts = [title for title, column in columns.items() if column.como == "pedidos"]
    cells = {row: [(row, title) for title in counts] for row in names if counts}
    orders = {row: min(each, key=lambda cell: figures.get(cell, 0)) for row, each in cells.items()}
    fewest = {row: figures[cell] for row, cell in orders.items() if cell in figures}
    others = [title for title in titles if title not in columns and re.search(frames().contagens, fold(title))]
    months = {month: row for row in rows if kind == "mês" and (month := _month_of(row)) is not None}
    uncounted = frozenset(row for row in names if not fewest.get(row) and (orders or others))
    table = FigureTable(
        kind,
        columns,
        texts,
        figures,
        places,
        rows,
        names,
        orders=orders,
        few=frozenset(row for row, count in fewest.items() if count < SMALL_SAMPLE),
        uncounted=uncounted,
        medians={
            title: round(_middle(sorted([figures[row, title] for row in names])), places[title] + 1) for title in whole
        },
        before={row: months[month - 1] for month, row in months.items() if month - 1 in months},
        doubted=len(rows) < len(named),
        period=_period_of(prompt, months),
        regulated={row for row in rows if laws[row] or (kind == "categoria" and fold(row) not in _retail())},
        facts={
            (row, title): frozenset(("valor",))
            for row, title in figures
            if row in laws and not (columns[title].media and row in uncounted)
        },
        salience={cell: 0.0 for cell in figures if cell[0] in laws},
    )
    for title in columns:
        _judge(table, title)
    for title in whole:
        own = {row: figures[row, title] for row in names}
        ordered = sorted(own.values())
        for row in rows:
            if (row, title) in table.facts:
                table.facts[row, title] = frozenset(_facts(table, title, row, own, ordered))
        table.salience.update(_salience(table, title, own))
    return table if table.facts else None


def _read_block(prompt: str) -> list[list[str]] | None:
    """Return header and rows of a prompt's one table; None where there are more, or a name stands twice."""
    lines = prompt.splitlines()
    places = [place for place, line in enumerate(lines) if " | " in line]
    block = [lines[place].split(" | ") for place in places]
    if not 2 <= len(block) <= MAX_ROWS + 1 or places[-1] - places[0] >= len(block):
        return None
    ((_, *titles), *body), known = block, figure_columns()
    names = [[_plain_name(line[0]) for line in body], [title.lower() for title in titles]]
    if len({len(line) for line in block}) > 1 or any(len(set(each)) < len(each) for each in names):
        return None
    if any(cell.lower() in known for _, *cells in body for cell in cells) or _means_other(prompt, block):
        return None
    nouns = [known[title].como if known[title].media else known[title].o for title in names[1] if title in known]
    # Of two columns with one noun, or of one mean, the one would seem to contradict the other.
    return block if nouns and len(set(nouns)) == len(nouns) else None


def _means_other(prompt: str, block: Sequence[Sequence[str]]) -> bool:
    """Return whether unit or sense of the figures is told beside them, so that each would mean another."""
    beside, (first, *others) = frames().ao_lado, [[*map(fold, column)] for column in zip(*block, strict=True)]
    head, figures = first[0], f"{beside.figuras}|{frames().restos}"
    known = "|".join((*map(fold, figure_columns()), beside.atributos.todas, beside.atributos.get(head, "")))
    others = [
        column
        for column in others
        if re.fullmatch(beside.colunas, column[0])
        or not (re.fullmatch(known, column[0]) or all(re.fullmatch(figures, cell) for cell in column[1:]))
    ]
    lines = [fold(line) for line in prompt.splitlines() if " | " not in line]
    own = "\n".join((head, *(line for line in lines if line.startswith("periodo:")), *chain.from_iterable(others)))
    told = re.search(beside.escalas, "\n".join((own, *lines, *map(fold, block[0])))) or re.search(beside.sentidos, own)
    is_odd = re.fullmatch(beside.pessoas, head) or not re.fullmatch(beside.linhas, head)
    is_person = any(is_sensitive(row) for row, *_ in block)
    return bool(told or is_odd or is_person) or any(len(set(cells)) >= min(2, len(cells)) for _, *cells in others)


def _read_column(
    title: str, rows: Sequence[str], texts: Mapping[Cell, str], unit: str, figures: dict[Cell, float]
) -> int:
    """Add the figures of a column's cells, and return the decimals that they have."""
    if unit == "nota" and any(re.match(r"[6-9]|\d\d|5,0*[1-9]", texts[row, title]) for row in rows):
        return 0
    read = {row: match[1].replace(".", "") for row in rows if (match := _UNITS[unit].fullmatch(texts[row, title]))}
    decimals = {row: len(number.partition(",")[2]) for row, number in read.items()}
    of_each = list(decimals.values())
    usual = max(of_each, key=of_each.count, default=0)
    figures |= {(row, title): float(read[row].replace(",", ".")) for row in read if decimals[row] == usual}
    return usual


def _has_sum(
    rows: Sequence[str], columns: Mapping[str, Any], figures: Mapping[Cell, float], places: Mapping[str, int]
) -> bool:
    """Return whether a row of other name is, as rounded, the sum of all others, or of those that its name is about."""
    titles = [title for title, column in columns.items() if column.soma]

    def adds_up(row: str, parts: Sequence[str], title: str) -> bool:
        off = _half(columns[title], places[title]) * (len(parts) + 1) + HAIR
        return abs(sum(figures.get((each, title), math.nan) for each in parts) - figures.get((row, title), 0.0)) <= off

    for row in rows:
        others, listed = [each for each in rows if each != row], re.split(r" ?[+&/,] ?| e ", fold(row))
        named = [each for each in others if fold(each) in listed or fold(each).startswith(f"{fold(row)} ")]
        for parts in (others, named):
            found = [title for title in titles if adds_up(row, parts, title)]
            is_large = len(parts) >= FEW_PARTS[1] and any(figures[row, title] >= LEAST_SUM for title in found)
            if is_large or (len(parts) >= FEW_PARTS[0] and len(found) == len(titles) > 1):
                return True
    return False


def _judge(table: FigureTable, title: str) -> None:
    """Add the rows at a judged column's bad end, and the cells beyond median and floor, or plainly bad."""
    column = table.columns[title]
    known = {row: own for row in table.compared if (own := table.figures.get((row, title))) is not None}
    if column.melhor is None or not known:
        return
    # A low figure is bad where a high one is good.
    turn = -1 if column.melhor == "alto" else 1
    end = max(turn * own for own in known.values())
    if len({*known.values()}) > 1:
        table.worst.update(row for row, own in known.items() if turn * own == end)
    for row in table.rows if column.ruim is not None else ():
        own = turn * known.get(row, turn * -math.inf)
        if own >= turn * column.ruim:
            table.bad |= {(row, title)} & table.facts.keys()
        if own >= turn * column.ruim or (own > turn * column.age_acima and turn * table.gap(row, title) >= 1):
            table.worst.add(row)


def _middle(ordered: Sequence[float]) -> float:
    """Return the median of sorted values; that of `statistics` takes several times as long for four."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _facts(table: FigureTable, title: str, row: str, figures: Mapping[str, float], ordered: list[float]) -> list[str]:
    """Return what is true of a cell, by the figures of its column, which can be compared and come sorted too."""
    column, middle = table.columns[title], table.medians[title]
    own, true = figures[row], ["valor"]
    # Beside rows of few orders alone, a rate of many orders would be told without a note.
    noted = not column.media or row in table.few
    if len(ordered) > 1 and (noted or sum(not table.is_unsure(each) for each in figures) > 1):
        is_least = own == ordered[0] < ordered[1]
        end = "alto" if own == ordered[-1] > ordered[-2] else "baixo" * is_least
        if end:
            true.append("maior" if end == "alto" else "menor")
        if end and column.melhor:
            true.append("melhor" if end == column.melhor else "pior")
        if len(ordered) > 2 and not table.doubted and _exceeds(own - middle, middle):
            true.append("acima" if own > middle else "abaixo")
    if column.vezes and own >= RATIO * ordered[0] and any(table.times(row, other, title) for other in table.rows):
        true.append("razao")
    before = table.before.get(row)
    if before and (noted or not table.is_unsure(before)) and _exceeds(own - figures[before], figures[before]):
        true.append("subiu" if own > figures[before] else "caiu")
    return true


def _exceeds(difference: float, base: float) -> bool:
    # A hair is left, since 10,3 and 10,0 are a binary one more than 3 % apart.
    return abs(difference) - NOTABLE * abs(base) > HAIR


def _salience(table: FigureTable, title: str, figures: Mapping[str, float]) -> dict[Cell, float]:
    """Return the surprise of a column's cells: the distance from the others' median in robust units.

    A mean or a rate over few orders is believed less. Sums are compared by logarithms, else the largest row is all that
    surprises. It is cubed in the end, so that three middling cells do not pay as one that stands out.
    """
    column = table.columns[title]
    step = column.passo
    if column.soma:
        figures = {row: math.log(max(own, 1.0)) for row, own in figures.items()}
    elif column.relativo:
        step *= abs(table.medians[title])
    ordered = sorted(figures.values())
    found: dict[Cell, float] = {}
    for row in table.rows if len(ordered) > 1 else ():
        own, others = figures[row], ordered.copy()
        others.remove(own)
        middle = _middle(others)
        distance = abs(own - middle) / (_middle(sorted([abs(other - middle) for other in others])) + (step or 1.0))
        if column.media and (count := table.figures.get(table.orders.get(row, (row, "")))) is not None:
            distance *= count / (count + DOUBTED)
        found[row, title] = (distance / (1 + distance)) ** 3
    return found
