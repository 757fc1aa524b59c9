"""Recognition of a shop's files: which tables of a store they make, and which rows are prompts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

import polars as pl

from schemas.store.column_map import CANCELED, NEEDED, OTHER_STATUSES, TELL_CANCELED, reference_fields
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.registry import TASKS
from tasks.synthesize.columns.look import (
    Known,
    LookedFile,
    are_mostly_states,
    expected,
    folded,
    looks_like,
    read_names,
)

MOST_VALUES: Final = 40  # Different values of a status, beyond which it is none.
READS_REVIEWS: Final[tuple[TaskName, ...]] = ("extraction", "sentiment")
_OF_REVIEWS: Final = ("orders", "customers", "reviews", "review_causes")
NAMED_BY_OTHERS: Final = ("customers", "products", "sellers", "category_translation")
"""Tables that follow from those that name their rows, where a file says no more of them."""


@dataclass(frozen=True)
class ColumnChoice:
    """A column of the file for one of ours."""

    ours: str
    theirs: str
    why: str
    sure: bool = True
    """Whether it is used; one that is not sure is a comment, to be confirmed by a person."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Our value, by the file's, where they differ."""
    unknown: tuple[str, ...] = ()
    """The file's values that are none of the known ones."""

    @property
    def waits(self) -> bool:
        """Return whether a run reads it and refuses it until a person completes it, lest canceled orders count."""
        return not self.sure and self.ours in TELL_CANCELED


def identity_of(file: LookedFile, ours: str) -> ColumnChoice | None:
    """Return the personal column by which a file's rows are one person's; None without one."""
    identities = read_names().identities
    for column in file.personal:
        if folded(column) in identities and not _is_empty(file.cells[column]):
            return ColumnChoice(ours, column, "a person's own number or address, replaced by a keyed hash")
    return None


def choose(file: LookedFile, wanted: Known) -> dict[str, ColumnChoice]:
    """Return the choice for each of our columns that the file seems to have."""
    named = []
    for ours, ranks in wanted.items():
        for column in file.cells.columns:
            cells, name = file.cells[column], folded(column)
            if name in ranks and column not in file.personal and not _is_other(ours, name, cells):
                # Some shops give only some of their products a code.
                lacks = _is_empty(cells) or (ours == "product_id" and cells.null_count() > 0)
                choice = judged(ours, column, cells)
                # The cells go before the names: `Avaliação` may be the stars or the text.
                named.append((lacks, not choice.sure, ranks[name], choice))
    chosen: dict[str, ColumnChoice] = {}
    taken: set[str] = set()
    for *_, choice in sorted(named, key=lambda each: each[:3]):
        if choice.ours not in chosen and choice.theirs not in taken:
            chosen[choice.ours] = choice
            # Only an id may be two of ours: that of an order, and of its only customer.
            taken |= set() if choice.ours.endswith("_id") else {choice.theirs}
    return {ours: chosen[ours] for ours in wanted if ours in chosen}


def _is_empty(cells: pl.Series) -> bool:
    return cells.null_count() == cells.len()


def _is_other(ours: str, name: str, cells: pl.Series) -> bool:
    """Return whether a column whose name is that of a status and of a state, such as `Estado`, holds the other."""
    tables, known = read_names().tables, read_names().values["order_status"]
    if name not in tables["orders"]["order_status"] or name not in tables["customers"]["customer_state"]:
        return False
    is_status = any(folded(value) in known for value in cells.drop_nulls().unique()) or not are_mostly_states(cells)
    return is_status == (expected(ours) == "states")


def judged(ours: str, column: str, cells: pl.Series) -> ColumnChoice:
    """Return the choice of a column by its cells, and where ours has known values, by what they mean."""
    if _is_empty(cells):
        # A later export of the same form may have a canceled order.
        return ColumnChoice(ours, column, "by its name, but every cell is empty", sure=ours in TELL_CANCELED)
    if ours in read_names().values:
        return _translated(ours, column, cells)
    kind = expected(ours)
    if kind is None or looks_like(cells, kind):
        return ColumnChoice(ours, column, f"by its name, and its cells are {kind}" if kind else "by its name")
    return ColumnChoice(ours, column, f"by its name, but its cells are not {kind}", sure=False)


def _translated(ours: str, column: str, cells: pl.Series) -> ColumnChoice:
    known = read_names().values[ours]
    found = cells.drop_nulls().unique().sort().to_list()
    if len(found) > MOST_VALUES:
        return ColumnChoice(ours, column, f"by its name, but it has {len(found):,} different values", sure=False)
    values = {value: known[folded(value)] for value in found if folded(value) in known}
    unknown = tuple(value for value in found if value not in values)
    why = "by its name, and all its values are known"
    if unknown:
        why = f"by its name, but {len(unknown)} of its {len(found)} values are unknown; say below what they mean"
    different = {theirs: value for theirs, value in values.items() if theirs != value}
    return ColumnChoice(ours, column, why, not unknown, different, unknown)


def more_statuses(file: LookedFile, chosen: Mapping[str, ColumnChoice]) -> Iterator[ColumnChoice]:
    """Yield further columns that tell of canceled orders by name or values, one for each status that is left."""
    left = [ours for ours in ("order_status", *OTHER_STATUSES) if ours not in chosen]
    taken = {choice.theirs for choice in chosen.values()}
    for column in file.cells.columns:
        cells = file.cells[column]
        if not left or column in taken or column in file.personal or _is_empty(cells):
            continue
        if tells_canceled(column, cells):
            # One that differs within an order is of its items, which may be canceled by themselves.
            said = file.cells.group_by(chosen["order_id"].theirs).agg(pl.col(column).drop_nulls().n_unique())
            if not (said[column] > 1).any():
                yield judged(left.pop(0), column, cells)


def tells_canceled(column: str, cells: pl.Series) -> bool:
    """Return whether a column is named like a status, or half of its values are known ones, `canceled` among them."""
    names, name = read_names(), folded(column)
    if any(name in names.tables["orders"][ours] for ours in ("order_status", *OTHER_STATUSES)):
        return not _is_other("order_status", name, cells)
    found = cells.drop_nulls().unique()
    if found.len() > MOST_VALUES:
        return False
    known = names.values["order_status"]
    meant = [known[folded(value)] for value in found if folded(value) in known]
    return CANCELED in meant and len(meant) >= found.len() / 2


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
    beside = [names.beside[name] for column in file.cells.columns if (name := folded(column)) in names.beside]
    for table, needed in NEEDED.items():
        wanted = names.tables[table]
        for more in beside:
            wanted = {ours: {**dict.fromkeys(more.get(ours, {}), len(wanted[ours])), **wanted[ours]} for ours in wanted}
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
    return tuple(
        each
        for each in tables
        if each.name not in NAMED_BY_OTHERS or any(choice.ours not in each.needed for choice in each.columns)
    )


def _knows_answers(section: MapSection) -> bool:
    return any(choice.sure for choice in section.reference)


def _joined(section: MapSection, orders: MapSection) -> float:
    """Return the share of a table's rows that are of an order that is there; 1 where it names none."""
    theirs, known = section.column("order_id"), orders.column("order_id")
    if theirs is None or known is None:
        return 1.0
    named = section.file.cells[theirs].drop_nulls()
    return int(named.is_in(orders.file.cells[known].implode()).sum()) / max(named.len(), 1)


def _worth(section: MapSection) -> tuple[int, int]:
    return sum(choice.sure for choice in section.columns), -len(section.file.cells.columns)


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
        columns = (own, *persons, *places.values())
        yield MapSection("customers", True, orders.file, NEEDED["customers"], columns)


def _prompt_sections(file: LookedFile) -> Iterator[MapSection]:
    names = read_names()
    for group, wanted in names.prompts.items():
        chosen = choose(file, wanted)
        inputs, fields = {choice.theirs for choice in chosen.values()}, names.references.get(group, {})
        sections = []
        for task in READS_REVIEWS if group == "review" else (cast("TaskName", group),):
            if all(name in chosen for name in required_inputs(task)):
                known = choose(file, {each: fields[each] for each in fields if each in reference_fields(task)})
                reference = tuple(choice for choice in known.values() if choice.theirs not in inputs)
                used = {*inputs, *(choice.theirs for choice in reference)}
                columns = (*chosen.values(), *(each for each in _identities(file) if each.theirs not in used))
                sections.append(MapSection(task, False, file, required_inputs(task), columns, reference))
        yield from [*filter(_knows_answers, sections)] or sections


def _identities(file: LookedFile) -> tuple[ColumnChoice, ...]:
    """Return the columns that say of whom and of what a prompt is."""
    orders, reviews = (read_names().tables[table] for table in ("orders", "reviews"))
    wanted = {name: orders[name] for name in ("customer_id", "order_id")} | {"review_id": reviews["review_id"]}
    chosen = choose(file, wanted)
    if "customer_id" not in chosen and (person := identity_of(file, "customer_id")) is not None:
        chosen["customer_id"] = person
    return tuple(chosen.values())
