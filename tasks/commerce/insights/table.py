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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from statistics import median
from typing import Any, Final

from tasks.commerce.regulated import is_sensitive, law_on
from tasks.commerce.text.lexicons import Entry, read_data, read_entries
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/evidence/actions.toml", "data/evidence/frames.toml", "data/evidence/retail.toml")
FRAMES: Final = read_entries("evidence/frames.toml")
"""Sentences, forms of names and lists of rows."""
COLUMNS: Final[Mapping[str, Any]] = {
    name: Entry({"como": name} | FRAMES.colunas[own.get("como", name)] | own) for name, own in FRAMES.colunas.items()
}
"""Columns by their names in small letters; one that is as another has all of that one but its noun."""
ACTIONS: Final[Mapping[str, Any]] = {
    each.id: Entry({"opostos": [], "earns": 0.5 if each.lado == "ambos" else 1.0} | each)
    for each in read_entries("evidence/actions.toml").acoes
}
"""Actions by their ids, and what a fitting one earns: half where it would fit every cell of its column."""
STATES: Final = {fold(written): name for code, name in FRAMES.siglas.items() for written in (code, name)}
RETAIL: Final = frozenset(map(fold, read_data("evidence/retail.toml")["categorias"]))
"""Categories of the ordinary retail, which may be advertised without a person's look."""
Cell = tuple[str, str]
OTHER: Final = "outra"  # The kind of rows that are none of those that are known.
NOTABLE, HAIR = 0.03, 5e-10  # Share of a figure from which a difference counts, and what a binary one may be off.
RATIO, MOST_TIMES = 2.0, 99.0  # Ratios that are told: a larger one is no news, or a slip.
SMALL_SAMPLE, DOUBTED = 30, 10  # Orders below which a mean may be chance, and at which half its surprise is believed.
FEW_PARTS, LEAST_SUM = (2, 3), 1_000  # Rows whose sum is no chance: in all of several columns, or in one of so much.
MAX_ROWS: Final = 31  # A row for each state, or for each day of a month.
KEPT_TABLES, MOST_MONTHS = 256, 36


@cache
def actions_on(kind: str, column: str) -> tuple[Any, ...]:
    """Return the actions that a kind of rows and a column, by the one that it is as, may have."""
    return tuple(each for each in ACTIONS.values() if kind in each.linhas and column in each.colunas)


def _month_of(row: str) -> int | None:
    """Return the place of a row's month in the count of all months; None where it is no month of a year."""
    name, _, year = row.partition("/")
    is_month = name in FRAMES.meses and re.fullmatch("(?:19|20)[0-9]{2}", year)
    return 12 * int(year) + FRAMES.meses.index(name) if is_month else None


def _period_of(prompt: str, months: Iterable[int]) -> tuple[str, str] | None:
    """Return the first and the last month of a prompt's period; None where it is no such, or leaves a row's out."""
    periods, short = re.findall(FRAMES.periodo, prompt, re.MULTILINE), [month[:3] for month in FRAMES.meses]
    ends = [12 * int(each[4:]) + short.index(each[:3]) for each in chain.from_iterable(periods)]
    span = range(ends[0], ends[1] + 1) if len(periods) == 1 else ()
    return periods[0] if 0 < len(span) <= MOST_MONTHS and all(month in span for month in months) else None


def _kind_of(kind: str, row: str) -> str:
    """Return the kind of a row of a table of a kind: `OTHER` where its name is none that is known."""
    known = {
        "estado": fold(row) in STATES,
        "estado do vendedor": fold(row) in STATES,
        "mês": _month_of(row) is not None,
        "dia da compra": row in FRAMES.dias,
        "pagamento": fold(row) in FRAMES.pagamentos,
    }
    return kind if kind in FRAMES.linhas and known.get(kind, True) else OTHER


def forms_of(kind: str, row: str, column: str = "") -> dict[str, str]:
    """Return the forms of a row's name: in it, of it, towards it, and as a subject, or empty where it has none.

    Beside a column a kind may have some of its own.
    """
    month, _, year = row.partition("/")
    articles = (each for each in FRAMES.artigos if STATES.get(fold(row), row) in each.estados)
    words = {"no": "", "do": "", "art": ""} | next(articles, {})
    words |= dict(zip(("dia_em", "dia_de"), FRAMES.dias.get(row, ("", "")), strict=True))
    templates = {"ser": "é", "ficar": "fica"} | FRAMES.linhas[_kind_of(kind, row)]
    words |= {"nome": row, "mes": f"{month} de {year}"}
    forms = {key: " ".join(text.format(**words).split()) for key, text in templates.items()} | {"nome": row}
    return forms | {key: forms.get(f"{key}_{column}", forms.get(key, "")) for key in ("em", "de", "o")}


class FigureTable:
    """A table as it is printed, and what is known of it."""

    def __init__(self, prompt: str, block: Sequence[Sequence[str]]) -> None:
        (head, *titles), *body = block
        self.kind = head.lower()
        # Those that the phrases know, by their titles.
        self.columns = {title: known for title in titles if (known := COLUMNS.get(title.lower()))}
        pairs = ((row, title, cell) for row, *cells in body for title, cell in zip(titles, cells, strict=True))
        self.texts = {(row, title): cell for row, title, cell in pairs if title in self.columns}
        # All rows are compared, those of what others leave too, such as `Outros`; the others have findings, but for one
        # beside names that a list has: it may be a goal, a change or a sum.
        self.compared = tuple(line[0] for line in body)
        named = [row for row in self.compared if not re.fullmatch(FRAMES.restos, fold(row))]
        has_list = self.kind in FRAMES.linhas
        self.rows = tuple(row for row in named if not has_list or _kind_of(self.kind, row) == self.kind)
        # With such a row nobody knows of which rows the median is.
        self.doubted = len(self.rows) < len(named)
        self.figures: dict[Cell, float] = {}
        self.places = {title: self._read_figures(title) for title in self.columns}
        # Half of the last digit of a column's figures, as far as they may be rounded.
        self.halves = {
            title: 0.0 if self.columns[title].unidade == "unidades" else 0.5 * 10.0**-places
            for title, places in self.places.items()
        }
        self.laws = {row: law_on(row) for row in self.rows}
        # Rows of which a law forbids or restricts the promotion, and categories that are no ordinary retail's.
        usual = RETAIL if self.kind == "categoria" else {*map(fold, self.rows)}
        self.regulated = {row for row in self.rows if self.laws[row] or fold(row) not in usual}
        months = {month: row for row in self.rows if self.kind == "mês" and (month := _month_of(row)) is not None}
        self.before = {row: months[month - 1] for month, row in months.items() if month - 1 in months}
        self.period = _period_of(prompt, months)
        counts = [title for title, column in self.columns.items() if column.como == "pedidos"]
        cells = {row: [(row, title) for title in counts] for row in self.compared if counts}
        # The cell that counts the fewest orders of each row, and the rows of few and of uncounted ones.
        self.orders = {row: min(each, key=lambda cell: self.figures.get(cell, 0)) for row, each in cells.items()}
        fewest = {row: self.figures[cell] for row, cell in self.orders.items() if cell in self.figures}
        others = [title for title in titles if title not in self.columns and re.search(FRAMES.contagens, fold(title))]
        self.few = {row for row, count in fewest.items() if count < SMALL_SAMPLE}
        uncounted = {row for row in self.compared if not fewest.get(row) and (self.orders or others)}
        self.unsure = self.few | uncounted
        whole = [title for title in self.columns if all((row, title) in self.figures for row in self.compared)]
        # Medians of the columns that can be compared.
        self.medians = {
            title: round(median(self.figures[row, title] for row in self.compared), self.places[title] + 1)
            for title in whole
        }
        # All facts of each cell, the one that says most first.
        self.facts: dict[Cell, tuple[str, ...]] = {
            (row, title): ("valor",)
            for row, title in self.figures
            if row in self.laws and not (self.columns[title].media and row in uncounted)
        }
        # How surprising each cell with a figure is, in [0, 1).
        self.salience = {cell: 0.0 for cell in self.figures if cell[0] in self.laws}
        # Cells with a fact that are plainly bad; rows than which no other is worse in a column that is judged, or that
        # are bad in one by its floors.
        self.bad: set[Cell] = set()
        self.worst: set[str] = set()
        for title, column in self.columns.items():
            if column.melhor:
                self._judge(title)
        for title in whole:
            own = {row: self.figures[row, title] for row in self.compared}
            ordered = sorted(own.values())
            for row in self.rows:
                if (row, title) in self.facts:
                    self.facts[row, title] = tuple(self._facts(title, row, own, ordered))
            self.salience.update(self._salience(title, own))

    def _read_figures(self, title: str) -> int:
        """Add the figures of a column's cells, and return the decimals that they have."""
        column, texts = self.columns[title], {row: self.texts[row, title] for row in self.compared}
        if column.unidade == "nota" and any(re.match(r"[6-9]|\d\d|5,0*[1-9]", text) for text in texts.values()):
            return 0
        form = re.compile(FRAMES.unidades[column.unidade], re.ASCII)
        read = {row: match[1].replace(".", "") for row, text in texts.items() if (match := form.fullmatch(text))}
        decimals = {row: len(number.partition(",")[2]) for row, number in read.items()}
        of_each = list(decimals.values())
        usual = max(of_each, key=of_each.count, default=0)
        self.figures |= {(row, title): float(read[row].replace(",", ".")) for row in read if decimals[row] == usual}
        return usual

    def _judge(self, title: str) -> None:
        """Add the rows at a judged column's bad end, and the cells beyond median and floor, or plainly bad."""
        column = self.columns[title]
        # A low figure is bad where a high one is good.
        turn = -1 if column.melhor == "alto" else 1
        known = {row: turn * self.figures[row, title] for row in self.compared if (row, title) in self.figures}
        if len({*known.values()}) > 1:
            self.worst.update(row for row, own in known.items() if own == max(known.values()))
        for row in known if column.ruim is not None else ():
            is_bad = known[row] >= turn * column.ruim
            if is_bad and (row, title) in self.facts:
                self.bad.add((row, title))
            if is_bad or (known[row] > turn * column.age_acima and turn * self.gap(row, title) >= 1):
                self.worst.add(row)

    def _facts(self, title: str, row: str, figures: Mapping[str, float], ordered: Sequence[float]) -> Iterator[str]:
        """Yield what is true of a cell, by the figures of its column, which come sorted too; what says most first."""
        column, middle, own, before = self.columns[title], self.medians[title], figures[row], self.before.get(row)
        # Beside rows of few orders alone, a rate of many orders would be told without a note.
        noted = not column.media or row in self.few
        if column.vezes and own >= RATIO * ordered[0] and any(self.times(row, other, title) for other in self.rows):
            yield "razao"
        if before and (noted or before not in self.unsure) and _exceeds(own - figures[before], figures[before]):
            yield "subiu" if own > figures[before] else "caiu"
        if len(ordered) > 1 and (noted or sum(each not in self.unsure for each in figures) > 1):
            end = "alto" if own == ordered[-1] > ordered[-2] else "baixo" if own == ordered[0] < ordered[1] else ""
            if end and column.melhor:
                yield "melhor" if end == column.melhor else "pior"
            if end:
                yield "maior" if end == "alto" else "menor"
            if len(ordered) > 2 and not self.doubted and _exceeds(own - middle, middle):
                yield "acima" if own > middle else "abaixo"
        yield "valor"

    def _salience(self, title: str, figures: Mapping[str, float]) -> dict[Cell, float]:
        """Return the surprise of a column's cells: the distance from the others' median in robust units.

        A mean or a rate over few orders is believed less. Sums are compared by logarithms, else the largest row is all
        that surprises. It is cubed in the end, so that three middling cells do not pay as one that stands out.
        """
        column = self.columns[title]
        step = column.passo
        if column.soma:
            figures = {row: math.log(max(own, 1.0)) for row, own in figures.items()}
        elif column.relativo:
            step *= abs(self.medians[title])
        found: dict[Cell, float] = {}
        for row in self.rows if len(figures) > 1 else ():
            others = [figure for other, figure in figures.items() if other != row]
            middle = median(others)
            distance = abs(figures[row] - middle) / (median(abs(each - middle) for each in others) + (step or 1.0))
            if column.media and (count := self.figures.get(self.orders.get(row, (row, "")))) is not None:
                distance *= count / (count + DOUBTED)
            found[row, title] = (distance / (1 + distance)) ** 3
        return found

    def times(self, row: str, other: str, title: str) -> bool:
        """Return whether a row has twice the other's figure, however both were rounded, neither by few orders."""
        if {row, other} & self.unsure or not self.columns[title].vezes or title not in self.medians:
            return False
        own, its, half = self.figures[row, title], self.figures[other, title], self.halves[title]
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

    def misleads(self) -> bool:
        """Return whether a row begins another table, sums up others, or has a name that nothing may have."""
        read, kinds = {row for row, _ in self.figures}, {*FRAMES.linhas} - {OTHER} | {self.kind}
        # Such as `Total 2018`, or a region beside states.
        sums = "|".join(FRAMES.somas[key] for key in ("todas", self.kind) if key in FRAMES.somas)
        return (
            any(row not in read and row.lower() in kinds for row in self.compared)
            or any(re.fullmatch(sums, fold(row)) for row in self.compared)
            or not all(re.fullmatch(FRAMES.nomes, row) for row in self.rows)
            or any(law and law[1].recusa for law in self.laws.values())
            or any(map(self._sums_up, self.compared))
        )

    def _sums_up(self, row: str) -> bool:
        """Return whether a row is, as rounded, the sum of all others, or of those that its name is about."""
        titles = [title for title, column in self.columns.items() if column.soma]
        others, listed = [each for each in self.compared if each != row], re.split(r" ?[+&/,] ?| e ", fold(row))
        named = [each for each in others if fold(each) in listed or fold(each).startswith(f"{fold(row)} ")]

        for parts in (others, named):
            sums = []
            for title in titles:
                own, off = self.figures.get((row, title), 0.0), self.halves[title] * (len(parts) + 1) + HAIR
                if abs(sum(self.figures.get((each, title), math.nan) for each in parts) - own) <= off:
                    sums.append(own)
            is_large = len(parts) >= FEW_PARTS[1] and max(sums, default=0.0) >= LEAST_SUM
            if is_large or (len(parts) >= FEW_PARTS[0] and len(sums) == len(titles) > 1):
                return True
        return False


def _exceeds(difference: float, base: float) -> bool:
    # A hair is left, since 10,3 and 10,0 are a binary one more than 3 % apart.
    return abs(difference) - NOTABLE * abs(base) > HAIR


@lru_cache(maxsize=KEPT_TABLES)
def read_table(prompt: str) -> FigureTable | None:
    """Read the table of a prompt, whose cells ` | ` separates; None where it has none that findings can be made of.

    That is: one block of lines of one width, distinct row names of letters and plain signs (SP and São Paulo are one),
    a known column with a figure, no row that sums up others, and nothing beside them that makes each figure another.
    """
    block = _read_block(prompt)
    table = FigureTable(prompt, block) if block else None
    return table if table and table.facts and not table.misleads() else None


def _read_block(prompt: str) -> list[list[str]] | None:
    """Return header and rows of a prompt's one table; None where there are more, or a name stands twice."""
    lines = prompt.splitlines()
    places = [place for place, line in enumerate(lines) if " | " in line]
    block = [lines[place].split(" | ") for place in places]
    if not 2 <= len(block) <= MAX_ROWS + 1 or places[-1] - places[0] >= len(block):
        return None
    (_, *titles), *body = block
    # One state by its name and by its code is one.
    names = [[STATES.get(fold(row), fold(row)) for row, *_ in body], [title.lower() for title in titles]]
    if len({len(line) for line in block}) > 1 or any(len(set(each)) < len(each) for each in names):
        return None
    if any(cell.lower() in COLUMNS for _, *cells in body for cell in cells) or _means_other(prompt, block):
        return None
    known = [COLUMNS[title] for title in names[1] if title in COLUMNS]
    # Of two columns with one noun, or of one mean, the one would seem to contradict the other.
    nouns = {column.como if column.media else column.o for column in known}
    return block if known and len(nouns) == len(known) else None


def _means_other(prompt: str, block: Sequence[Sequence[str]]) -> bool:
    """Return whether unit or sense of the figures is told beside them, so that each would mean another."""
    beside, (first, *others) = FRAMES.ao_lado, [[*map(fold, column)] for column in zip(*block, strict=True)]
    head, figures = first[0], f"{beside.figuras}|{FRAMES.restos}"
    known = "|".join((*map(fold, COLUMNS), beside.atributos.todas, beside.atributos.get(head, "")))
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
