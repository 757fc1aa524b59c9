"""Recognition of a shop's files: which tables of a store they make, and which rows are prompts."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, cast

from schemas.errors import InputError
from schemas.store.column_map import NEEDED, reference_fields
from schemas.tables.delimited import read_numbers
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.synthesize.columns.choices import ColumnChoice, choose, identity_of, more_statuses, tells_canceled
from tasks.synthesize.columns.look import LookedFile, expected
from tasks.synthesize.columns.names import folded, in_words, read_names, with_more

_YEAR_LAST: Final = r"^\s*(\d{1,2})[-/.](\d{1,2})[-/.]\d{4}"
READS_REVIEWS: Final[tuple[TaskName, ...]] = ("extraction", "sentiment")
_OF_REVIEWS: Final = ("orders", "customers", "reviews", "review_causes")
NAMED_BY_OTHERS: Final = ("customers", "products", "sellers", "category_translation")
"""Tables that follow from those that name their rows, where a file says no more of them."""


@dataclass(frozen=True)
class MapSection:
    """A `[[tables]]` or `[[prompts]]` of the column map."""

    name: str
    is_table: bool
    file: LookedFile
    needed: tuple[str, ...]
    """Our columns that it cannot be without."""
    columns: tuple[ColumnChoice, ...]
    reference: tuple[ColumnChoice, ...] = ()

    @property
    def choices(self) -> tuple[ColumnChoice, ...]:
        """Return all choices."""
        return self.columns + self.reference

    @property
    def is_sure(self) -> bool:
        """Return whether all columns that it cannot be without are sure."""
        return all(choice.sure for choice in self.columns if choice.ours in self.needed)

    def column(self, ours: str) -> str | None:
        """Return the file's column that is surely ours."""
        return next((choice.theirs for choice in self.columns if choice.ours == ours and choice.sure), None)


@dataclass(frozen=True)
class Recognized:
    """What was found in all files."""

    files: tuple[LookedFile, ...]
    sections: tuple[MapSection, ...]

    def table(self, name: str) -> MapSection | None:
        """Return the section of a table, where it is sure."""
        return next((each for each in self.sections if each.is_table and each.name == name and each.is_sure), None)

    def prompts(self, task: TaskName) -> tuple[MapSection, ...]:
        """Return the sections whose rows are prompts of a task, where they are sure."""
        return tuple(each for each in self.sections if not each.is_table and each.name == task and each.is_sure)

    @property
    def confirmed(self) -> "Recognized":
        """Return the same with every choice confirmed."""

        def sure(choices: tuple[ColumnChoice, ...]) -> tuple[ColumnChoice, ...]:
            return tuple(replace(choice, sure=True) for choice in choices)

        sections = (replace(each, columns=sure(each.columns), reference=sure(each.reference)) for each in self.sections)
        return replace(self, sections=tuple(sections))

    def left_out(self, file: LookedFile) -> dict[str, tuple[str, ...]]:
        """Return a file's columns that are in no section, by the reason: only those that have some."""
        sections = [section for section in self.sections if section.file is file]
        named = {choice.theirs for section in sections for choice in section.choices}
        left = [name for name in file.cells.columns if name not in named]
        unused = tuple(name for name in left if name not in file.personal)
        reasons = {
            "not recognised": unused,
            "not read, though they may tell of canceled sales, which count": tuple(
                name
                for name in unused
                if any(each.is_table for each in sections) and tells_canceled(name, file.cells[name])
            ),
            "a person's own, and left out": tuple(name for name in file.personal if name not in named),
            "objects, and left out": file.nested,
        }
        return {reason: columns for reason, columns in reasons.items() if columns}


def recognize(files: Sequence[LookedFile], tasks: Collection[TaskName] = TASK_NAMES) -> Recognized:
    """Recognise the columns of some files, as far as some tasks need them."""
    tables = _one_file_each([section for file in files for section in _table_sections(file)])
    if {*tasks} <= {*READS_REVIEWS}:
        tables = tuple(section for section in tables if section.name in _OF_REVIEWS)
    without_table = [file for file in files if all(section.file is not file for section in tables)]
    prompts = [section for file in without_table for section in _prompt_sections(file) if section.name in tasks]
    return Recognized(tuple(files), (*tables, *prompts))


def required_inputs(task: TaskName) -> tuple[str, ...]:
    """Return the inputs that a prompt of a task cannot be without."""
    return tuple(name for name, inputs in TASKS[task].inputs.model_fields.items() if inputs.is_required())


def _table_sections(file: LookedFile) -> Iterator[MapSection]:
    names = read_names()
    named = names.files.get(folded(file.path.stem))
    beside = [names.beside[name] for column in file.cells.columns if (name := folded(column)) in names.beside]
    for table, needed in NEEDED.items():
        wanted = names.tables[table]
        for more in [*beside, *([names.short.get(table, {})] if table == named else [])]:
            wanted = with_more(wanted, more)
        chosen = choose(file, wanted)
        if all(name in chosen for name in needed):
            if table == "orders":
                chosen |= {choice.ours: choice for choice in more_statuses(file, chosen)}
            yield MapSection(table, True, file, needed, tuple(chosen.values()))


def _one_file_each(found: Sequence[MapSection]) -> tuple[MapSection, ...]:
    """Return of each table the section that says most, and no table without those that it names."""
    ordered = sorted(found, key=_worth, reverse=True)
    orders = next((section for section in ordered if section.name == "orders"), None)
    if orders is None:
        return ()
    best = {"orders": orders}
    for section in ordered:
        # Rows of another shop are no part of these orders, but where a few orders are missing that is a mistake.
        if section.file is orders.file or _joined(section, orders) >= (1 if section.name == "reviews" else 0.5):
            best.setdefault(section.name, section)
    reviews = best.get("reviews")
    if reviews is not None and reviews.file is orders.file:
        if not best.keys() & {"items", "payments"}:
            # Reviews with the number and the date of their orders are no sales.
            return ()
    elif reviews is not None and not reviews.is_sure and any(map(_knows_answers, _prompt_sections(reviews.file))):
        del best["reviews"]
    best |= {section.name: section for section in _with_persons(best["orders"], best.pop("customers", None))}
    tables = (best[table] for table in NEEDED if table in best)
    return tuple(s for s in tables if s.name not in NAMED_BY_OTHERS or any(c.ours not in s.needed for c in s.columns))


def _knows_answers(section: MapSection) -> bool:
    return any(choice.sure for choice in section.reference)


def _joined(section: MapSection, orders: MapSection) -> float:
    """Return the share of a table's rows that are of an order that is there; 1 where it names none."""
    theirs, known = section.column("order_id"), orders.column("order_id")
    if theirs is None or known is None:
        return 1.0
    named = section.file.cells[theirs].drop_nulls()
    return int(named.is_in(orders.file.cells[known].implode()).sum()) / max(named.len(), 1)


def _worth(section: MapSection) -> tuple[bool, int, int]:
    named = read_names().files.get(folded(section.file.path.stem)) == section.name
    return named, sum(choice.sure for choice in section.columns), -len(section.file.cells.columns)


def _with_persons(orders: MapSection, customers: MapSection | None) -> Iterator[MapSection]:
    """Return the orders and their customers, by a number of the shop's or else by one of the person's own."""
    known = next((choice for choice in orders.columns if choice.ours == "customer_id"), None)
    # Without an order's customer nothing joins a file of customers to it.
    if customers is not None and customers.file is not orders.file and known is not None:
        person = identity_of(customers.file, "customer_unique_id")
        if customers.column("customer_unique_id") is None and person is not None:
            customers = replace(customers, columns=(*customers.columns, person))
        yield customers
        return
    of_file = identity_of(orders.file, "customer_unique_id")
    person = known if known is not None and known.sure else of_file or known
    order = next(choice for choice in orders.columns if choice.ours == "order_id")
    own = replace(order, ours="customer_id", why="each order's own, for its person may move")
    of_customers = read_names().tables["customers"]
    places = choose(orders.file, {ours: ranks for ours, ranks in of_customers.items() if not ours.endswith("_id")})
    persons = () if person is None else (replace(person, ours="customer_unique_id"),)
    if persons or places:
        yield replace(orders, columns=(*(c for c in orders.columns if c.ours != "customer_id"), own))
        yield MapSection("customers", True, orders.file, NEEDED["customers"], (own, *persons, *places.values()))


def _prompt_sections(file: LookedFile) -> Iterator[MapSection]:
    names = read_names()
    for group, wanted in names.prompts.items():
        phrases = in_words(file.cells.columns) if group == "review" else {}
        chosen = choose(file, wanted, phrases)
        inputs, fields = {choice.theirs for choice in chosen.values()}, names.references.get(group, {})
        sections = []
        for task in READS_REVIEWS if group == "review" else (cast("TaskName", group),):
            if all(name in chosen for name in required_inputs(task)):
                known = choose(file, {each: fields[each] for each in fields if each in reference_fields(task)}, phrases)
                reference = tuple(choice for choice in known.values() if choice.theirs not in inputs)
                used = {*inputs, *(choice.theirs for choice in reference)}
                columns = (*chosen.values(), *(each for each in _identities(file) if each.theirs not in used))
                sections.append(MapSection(task, False, file, required_inputs(task), columns, reference))
        by_name = all(folded(choice.theirs) in wanted[ours] for ours, choice in chosen.items())
        yield from [*filter(_knows_answers, sections)] or (sections if by_name else [])


def _identities(file: LookedFile) -> tuple[ColumnChoice, ...]:
    """Return the columns that say of whom and of what a prompt is."""
    names = read_names()
    orders, reviews = (with_more(names.tables[table], names.short[table]) for table in ("orders", "reviews"))
    wanted = {
        "customer_id": orders["customer_id"],
        "order_id": names.tables["orders"]["order_id"],
        "review_id": reviews["review_id"],
    }
    chosen = choose(file, wanted)
    if "customer_id" not in chosen and (person := identity_of(file, "customer_id")) is not None:
        chosen["customer_id"] = person
    return tuple(chosen.values())


def undecided(section: MapSection) -> Iterator[tuple[str, str]]:
    """Yield the usual answer for a Brazilian shop, as a line of the column map, and why it must be confirmed."""
    dates = [section.file.cells[c.theirs] for c in section.choices if c.sure and expected(c.ours) == "dates"]
    parts = [cells.str.extract(_YEAR_LAST, group).drop_nulls().str.to_integer() for cells in dates for group in (1, 2)]
    if any(part.len() for part in parts) and not any((part > 12).any() for part in parts):
        yield 'dates = "day-first"', "no date tells whether 03/04 is in April"
    for choice in section.choices:
        if choice.sure and expected(choice.ours) == "numbers" and _may_be_two(section.file, choice.theirs):
            yield 'decimals = "comma"', f"no number of {choice.theirs!r} tells whether 1.234 is more than a thousand"
            return


def _may_be_two(file: LookedFile, column: str) -> bool:
    """Return whether numbers can be read with a decimal comma, and no row tells that they have one."""
    cells = file.cells[column]
    if column in file.numbers:
        return False
    try:
        read_numbers(cells, column, None, str)
    except InputError:
        with suppress(InputError):
            read_numbers(cells, column, "comma", str)
            return True
    return False
