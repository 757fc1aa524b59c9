"""Recognition of a shop's files: which tables of a store they make, and which rows are prompts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, cast

from schemas.errors import InputError
from schemas.store.column_map import reference_fields
from schemas.store.mapped_tables import NEEDED
from schemas.tables.decimal_comma import read_numbers
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.synthesize.columns.choices import ColumnChoice, choose, identity_of, more_statuses, tells_canceled
from tasks.synthesize.columns.kinds import expected
from tasks.synthesize.columns.look import LookedFile
from tasks.synthesize.columns.names import ColumnNames, folded, read_names, with_short
from tasks.synthesize.columns.shipped import ShippedMap, shipped_map_of

_YEAR_LAST: Final = r"^\s*(\d{1,2})[-/.](\d{1,2})[-/.]\d{4}"
READS_REVIEWS: Final[tuple[TaskName, ...]] = ("extraction", "sentiment")
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
    shipped: str | None = None

    @property
    def choices(self) -> tuple[ColumnChoice, ...]:
        """Return all choices."""
        return self.columns + self.reference

    @property
    def is_sure(self) -> bool:
        """Return whether all columns that it cannot be without are sure."""
        return all(choice.sure for choice in self.columns if choice.ours in self.needed)

    @property
    def confirmed(self) -> "MapSection":
        """Return the section with every choice confirmed."""
        columns, reference = (
            tuple(replace(choice, sure=True) for choice in choices) for choices in (self.columns, self.reference)
        )
        return replace(self, columns=columns, reference=reference)

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
        return replace(self, sections=tuple(section.confirmed for section in self.sections))

    def unused(self, file: LookedFile) -> tuple[str, ...]:
        """Return a file's columns that are in no section, and have no personal data."""
        named = {choice.theirs for section in self.sections if section.file is file for choice in section.choices}
        return tuple(name for name in file.cells.columns if name not in named and name not in file.personal)

    def unread_statuses(self, file: LookedFile) -> tuple[str, ...]:
        """Return a file's columns that may tell of canceled sales, and that no table of ours has a place for."""
        names = read_names()
        return tuple(name for name in self.unused(file) if tells_canceled(name, file.cells[name], names))

    def personal(self, file: LookedFile) -> tuple[str, ...]:
        """Return a file's columns with personal data that are not mapped."""
        named = {choice.theirs for section in self.sections if section.file is file for choice in section.choices}
        return tuple(name for name in file.personal if name not in named)


def recognize(files: Sequence[LookedFile]) -> Recognized:
    """Recognise the columns of some files."""
    names = read_names()
    found: list[MapSection] = []
    for file in files:
        shipped = shipped_map_of(file, names)
        found += _shipped_sections(file, shipped) if shipped else _table_sections(file, names)
    tables = _one_file_each(found)
    without_table = [file for file in files if all(section.file is not file for section in tables)]
    prompts = [section for file in without_table for section in _prompt_sections(file, names)]
    return Recognized(tuple(files), (*tables, *prompts))


def required_inputs(task: TaskName) -> tuple[str, ...]:
    """Return the inputs that a prompt of a task cannot be without."""
    return tuple(name for name, inputs in TASKS[task].inputs.model_fields.items() if inputs.is_required())


def _shipped_sections(file: LookedFile, shipped: ShippedMap) -> Iterator[MapSection]:
    for table, choices in shipped.tables.items():
        yield MapSection(table, True, file, NEEDED[table], choices, shipped=shipped.name)


def _table_sections(file: LookedFile, names: ColumnNames) -> Iterator[MapSection]:
    named = names.files.get(folded(file.path.stem))
    for table, known in names.tables.items():
        wanted = with_short(known, names.short.get(table, {})) if table == named else known
        chosen = choose(file, wanted, names)
        needed = NEEDED[table]
        if all(name in chosen for name in needed):
            if table == "orders":
                chosen |= {choice.ours: choice for choice in more_statuses(file, chosen, names)}
            yield MapSection(table, True, file, needed, tuple(chosen.values()))


def _one_file_each(found: Sequence[MapSection]) -> tuple[MapSection, ...]:
    """Return of each table the section that says most, and no table without those that it names."""
    best: dict[str, MapSection] = {}
    for section in found:
        rival = best.get(section.name)
        if rival is None or _worth(section) > _worth(rival):
            best[section.name] = section
    if "orders" not in best:
        return ()
    orders = best["orders"]
    if not orders.shipped:
        customers = best.pop("customers", None)
        best |= {section.name: section for section in _with_persons(orders, customers)}
    for table in NAMED_BY_OTHERS:
        if table in best and not _says_more_than_its_key(best[table]):
            del best[table]
    return tuple(best[table] for table in NEEDED if table in best)


def _says_more_than_its_key(section: MapSection) -> bool:
    return any(choice.ours not in section.needed for choice in section.columns)


def _worth(section: MapSection) -> tuple[bool, int, int]:
    named = read_names().files.get(folded(section.file.path.stem)) == section.name
    return named, sum(choice.sure for choice in section.columns), -len(section.file.cells.columns)


def _with_persons(orders: MapSection, customers: MapSection | None) -> Iterator[MapSection]:
    """Return the orders and their customers, by a number of the shop's or else by one of the person's own."""
    names = read_names()
    known = next((choice for choice in orders.columns if choice.ours == "customer_id"), None)
    # Without an order's customer nothing joins a file of customers to it.
    if customers is not None and customers.file is not orders.file and known is not None:
        person = identity_of(customers.file, names)
        if customers.column("customer_unique_id") is None and person is not None:
            customers = replace(customers, columns=(*customers.columns, replace(person, ours="customer_unique_id")))
        yield customers
        return
    person = known if known is not None and known.sure else identity_of(orders.file, names) or known
    order = next(choice for choice in orders.columns if choice.ours == "order_id")
    own = replace(order, ours="customer_id", why="each order's own, for its person may move")
    others = {ours: ranks for ours, ranks in names.tables["customers"].items() if not ours.endswith("_id")}
    places = choose(orders.file, others, names)
    persons = () if person is None else (replace(person, ours="customer_unique_id"),)
    if not persons and not places:
        return
    yield replace(orders, columns=(*(c for c in orders.columns if c.ours != "customer_id"), own))
    columns = (own, *persons, *places.values())
    yield MapSection("customers", True, orders.file, NEEDED["customers"], columns)


def _prompt_sections(file: LookedFile, names: ColumnNames) -> Iterator[MapSection]:
    for group, wanted in names.prompts.items():
        tasks = READS_REVIEWS if group == "review" else (cast("TaskName", group),)
        chosen = choose(file, wanted, names)
        for task in tasks:
            if all(name in chosen for name in required_inputs(task)):
                reference = choose(file, _of_task(names.references.get(group, {}), task), names)
                inputs = {choice.theirs for choice in chosen.values()}
                yield MapSection(
                    task,
                    False,
                    file,
                    required_inputs(task),
                    (*chosen.values(), *_identities(file, names)),
                    tuple(choice for choice in reference.values() if choice.theirs not in inputs),
                )


def _of_task(wanted: Mapping[str, Mapping[str, int]], task: TaskName) -> Mapping[str, Mapping[str, int]]:
    return {field: ranks for field, ranks in wanted.items() if field in reference_fields(task)}


def _identities(file: LookedFile, names: ColumnNames) -> tuple[ColumnChoice, ...]:
    """Return the columns that say of whom and of what a prompt is."""
    orders, reviews = (with_short(names.tables[table], names.short[table]) for table in ("orders", "reviews"))
    wanted = {
        "customer_id": orders["customer_id"],
        "order_id": names.tables["orders"]["order_id"],
        "review_id": reviews["review_id"],
    }
    chosen = choose(file, wanted, names)
    person = identity_of(file, names)
    if "customer_id" not in chosen and person is not None:
        chosen["customer_id"] = person
    return tuple(chosen.values())


def undecided(section: MapSection) -> Iterator[tuple[str, str]]:
    """Yield the usual answer for a Brazilian shop, as a line of the column map, and why it must be confirmed."""
    dates = [section.file.cells[c.theirs] for c in section.choices if c.sure and expected(c.ours) == "dates"]
    parts = [cells.str.extract(_YEAR_LAST, group).drop_nulls().str.to_integer() for cells in dates for group in (1, 2)]
    if any(part.len() for part in parts) and not any((part > 12).any() for part in parts):
        yield 'dates = "day-first"', "no date tells whether 03/04 is in April"
    for choice in section.choices:
        if choice.sure and expected(choice.ours) == "numbers" and _may_be_two(section, choice.theirs):
            yield 'decimals = "comma"', f"no number of {choice.theirs!r} tells whether 1.234 is more than a thousand"
            return


def _may_be_two(section: MapSection, column: str) -> bool:
    """Return whether numbers can be read with a decimal comma, and no row tells that they have one."""
    cells = section.file.cells[column]
    if column in section.file.numbers:
        return False
    try:
        read_numbers(cells, column)
    except InputError:
        with suppress(InputError):
            read_numbers(cells, column, "comma")
            return True
    return False
