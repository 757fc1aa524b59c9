"""Column map: which columns of a shop's own files are which of ours, as a TOML document (docs/your-data.md).

A key is a column of ours, its value the column of the file. Names are checked here, before a file is opened; the names
of a task's inputs are those of `tasks.commerce.inputs`, and checked by who makes the prompts.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.disk import read_toml
from schemas.errors import InputError
from schemas.faults import did_you_mean
from schemas.references import REFERENCES, ExtractionFields
from schemas.tasks import TASK_NAMES, TaskName

TableName = Literal[
    "orders",
    "items",
    "payments",
    "reviews",
    "customers",
    "products",
    "sellers",
    "category_translation",
    "review_causes",
    "customer_hazards",
]
TABLE_NAMES: Final[tuple[TableName, ...]] = get_args(TableName)
QUANTITY: Final = "quantity"
"""Column of `items` that no store has: Olist has a row a piece, and a shop's line of three pieces becomes three."""

CANCELED: Final = "canceled"
ORDER_STATUSES: Final = (
    *("created", "approved", "invoiced", "processing", "shipped", "delivered", "unavailable"),
    CANCELED,
)
CANCELED_DATE: Final = "order_canceled_date"
"""Column of `orders` that no store has: an order with a date in it was canceled, whatever its status says."""
OTHER_STATUSES: Final = ("sale_status", "payment_status")
"""Columns of `orders` that no store has: a status of its own, with the values of `order_status`, that only counts where
it says that the order was canceled; `order_status` is then that of the delivery."""
REFUNDED: Final = "refunded_value"
"""Column of `payments` that no store has: what was paid back, with a minus or without, is taken off what was paid."""
TELL_CANCELED: Final = ("order_status", CANCELED_DATE, *OTHER_STATUSES, REFUNDED)
"""Columns without which sales count that were none."""


NEEDED: Final[Mapping[TableName, tuple[str, ...]]] = {
    "orders": ("order_id", "order_purchase_timestamp"),
    "items": ("order_id", "product_id", "price"),
    "payments": ("order_id", "payment_value"),
    "reviews": ("order_id", "review_score"),
    "customers": ("customer_id",),
    "products": ("product_id",),
    "sellers": ("seller_id",),
    "category_translation": ("product_category_name",),
    "review_causes": ("review_id", *ExtractionFields.model_fields),
    "customer_hazards": ("customer_unique_id", "churned"),
}
"""Columns without which there is no table; the others stay empty, or follow from these (docs/your-data.md)."""
_OF_NO_STORE: Final[Mapping[str, tuple[str, ...]]] = {
    "orders": (CANCELED_DATE, *OTHER_STATUSES),
    "items": (QUANTITY,),
    "payments": (REFUNDED,),
}


def mapped_columns(table: TableName) -> tuple[str, ...]:
    """Return all columns of a table that files may fill."""
    # polars takes a quarter of a second to load.
    from schemas.store.tables import TABLES

    return (*TABLES[table].columns, *_OF_NO_STORE.get(table, ()))


_REVIEWS: Final[Mapping[TableName, tuple[str, ...]]] = {
    "orders": ("order_id",),
    "reviews": ("review_score", "review_comment_message"),
}
_DELIVERIES: Final = ("order_purchase_timestamp", "order_delivered_customer_date", "order_estimated_delivery_date")
NEEDED_BY_TASK: Final[Mapping[TaskName, Mapping[TableName, tuple[str, ...]]]] = {
    "extraction": _REVIEWS,
    "sql_qa": {"orders": ("order_id",), "items": ("price",)},
    "insights": {"orders": ("order_purchase_timestamp",), "items": ("price",)},
    "push": {"orders": ("order_id",), "items": ("product_id",), "products": ("product_category_name",)},
    "sentiment": _REVIEWS,
    "churn": {
        "orders": _DELIVERIES,
        "items": ("price",),
        "customers": ("customer_unique_id", "customer_state"),
        "customer_hazards": ("churned",),
    },
}
"""Tables and columns that the prompts of a task are made from; a row of `[[prompts]]` needs none of them."""


PROMPT: Final = "prompt"
"""Column with the whole text of a prompt; otherwise the columns are the inputs that it is written from."""
IDENTITIES: Final = ("customer_id", "order_id", "review_id")
"""Columns that say of whom and of what a prompt is."""
GIVEN_IN_PROMPT: Final = ("product", "offer")
"""Fields of push's reference, which its prompt names: they follow from the inputs of the same names."""
FORMATS: Final = (".csv", ".tsv", ".txt", ".xlsx", ".jsonl", ".ndjson", ".parquet")

Columns = dict[str, str]
Values = dict[str, dict[str, str]]
"""By column of ours: our value, by the file's."""


class MappedFile(BaseModel):
    """A file of the shop's, and how its cells are written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    """CSV, Excel, JSON Lines or Parquet, by its ending; relative to the column map."""
    columns: Columns = Field(min_length=1)
    """Column of the file, by ours."""
    values: Values = {}
    """Our values for those of the file, such as `{order_status = {Pago = "approved"}}`; others stay as they are."""
    dates: Literal["day-first", "month-first"] | None = None
    """Order of dates such as `03/04/2025`, which the file itself need not decide."""
    decimals: Literal["comma", "point"] | None = None
    """Decimal sign of numbers such as `1.234`, which the file itself need not decide."""

    @model_validator(mode="after")
    def _has_a_known_ending(self) -> Self:
        if self.path.suffix.lower() not in FORMATS:
            raise ValueError(f"path {str(self.path)!r} ends in none of {', '.join(FORMATS)}; export it as one of them")
        return self


class MappedPrompts(MappedFile):
    """A file whose rows are prompts."""

    task: TaskName | None = None
    task_column: str | None = Field(default=None, min_length=1)
    """Column of the file with each row's task; its values may be translated as those of `task`."""
    reference: Columns = {}
    """Column of the file, by field of the task's reference; a field that is left out is unknown."""

    @property
    def tasks(self) -> tuple[TaskName, ...]:
        """Return the tasks that the rows may be of."""
        return TASK_NAMES if self.task is None else (self.task,)

    @model_validator(mode="after")
    def _names_are_known_and_mean_one_thing(self) -> Self:
        if (self.task is None) == (self.task_column is None):
            raise ValueError('give either task or task_column, such as task = "sentiment"')
        known = list(dict.fromkeys(name for task in self.tasks for name in reference_fields(task)))
        _refuse_unknown(self.reference, known, f"field of the reference of {self.task or 'any task'}")
        translated = [*self.reference, *self.columns, *(["task"] if self.task_column else [])]
        _refuse_unknown(self.values, translated, "column of ours that is mapped here, of which values could be given")
        if self.task is not None:
            refuse_answers_in_prompts(self.columns, self.reference)
        return self


class MappedTableFile(MappedFile):
    """A file whose rows make a table of the store; one file may make several."""

    table: TableName

    @model_validator(mode="after")
    def _columns_are_of_the_table(self) -> Self:
        _refuse_unknown(self.columns, mapped_columns(self.table), f"column of {self.table}")
        _refuse_unknown(self.values, tuple(self.columns), "column of ours that is mapped here")
        missing = [name for name in NEEDED[self.table] if name not in self.columns]
        if missing:
            raise ValueError(f"columns lacks {', '.join(missing)}, without which there is no table {self.table}")
        # A flat file may have one number for the order and its customer, but no price is a freight, too.
        _refuse_twice({name: column for name, column in self.columns.items() if not name.endswith("_id")})
        return self


class ColumnMap(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: tuple[MappedPrompts, ...] = ()
    tables: tuple[MappedTableFile, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the paths of all files, each once, in the document's order."""
        return tuple(dict.fromkeys(file.path for file in (*self.prompts, *self.tables)))

    @model_validator(mode="after")
    def _each_table_comes_from_one_file(self) -> Self:
        if not self.prompts and not self.tables:
            raise ValueError("it names no file; give a [[prompts]] or a [[tables]]")
        named = [file.table for file in self.tables]
        for table in TABLE_NAMES:
            if named.count(table) > 1:
                raise ValueError(f"table {table} is there {named.count(table)} times; put its rows into one file")
        return self


def read_column_map(path: Path) -> ColumnMap:
    """Read a column map; the paths in it are returned relative to the working folder, or absolute."""
    try:
        values = read_toml(path, "column map")
    except FileNotFoundError:
        raise InputError(f"column map {path} does not exist; write one with `tucano init FILES`") from None
    try:
        column_map = ColumnMap.model_validate(values)
    except ValidationError as error:
        # A map of an older version may name what is no longer there.
        again = "correct it, or write the map again with `tucano init FILES`"
        raise InputError(f"column map {path}: {_first_fault(error)}; {again}") from None
    files = {
        kind: tuple(file.model_copy(update={"path": path.parent / file.path}) for file in getattr(column_map, kind))
        for kind in ColumnMap.model_fields
    }
    return column_map.model_copy(update=files)


def reference_fields(task: TaskName) -> tuple[str, ...]:
    """Return the fields of a task's reference, as a column map names them: of extraction the rating and the ten."""
    needed = [name for name, field in REFERENCES[task].model_fields.items() if field.is_required()]
    return ("rating", *ExtractionFields.model_fields) if task == "extraction" else tuple(needed)


def refuse_answers_in_prompts(columns: Columns, reference: Columns) -> None:
    """Refuse a column that is mapped twice for one task, or whose answer would stand in its own prompt."""
    inputs = {ours: name for ours, name in columns.items() if ours not in IDENTITIES}
    named = {name: ours for ours, name in inputs.items()}
    for field, name in reference.items():
        if name in named and field not in GIVEN_IN_PROMPT:
            raise ValueError(
                f"column {name!r} is both {named[name]} and reference.{field}, so that the answer would stand in its "
                "own prompt; map one of them to another column"
            )
    _refuse_twice(inputs)
    _refuse_twice(reference)


def _refuse_unknown(names: Iterable[str], known: Iterable[str], what: str) -> None:
    choices = list(known)
    for name in names:
        if name not in choices:
            near = did_you_mean(name, choices) or f"; use one of {', '.join(choices)}"
            raise ValueError(f"{name!r} is no {what}{near}")


def _refuse_twice(columns: Mapping[str, str]) -> None:
    first: dict[str, str] = {}
    for ours, name in columns.items():
        if name in first:
            raise ValueError(f"column {name!r} is both {first[name]} and {ours}; map one of them to another column")
        first[name] = ours


def _first_fault(error: ValidationError) -> str:
    """Describe the first fault and its place: a map holds names only, so that values may be shown."""
    fault = error.errors(include_url=False)[0]
    place = ".".join(str(part + 1) if isinstance(part, int) else part for part in fault["loc"]) or "the document"
    if fault["type"] == "extra_forbidden":
        keys = sorted({name for model in (ColumnMap, MappedPrompts, MappedTableFile) for name in model.model_fields})
        return f"{place} is no key of it; the keys are {', '.join(keys)}"
    found = f" (it is {fault['input']!r})" if isinstance(fault["input"], str) else ""
    return f"{place}: {fault['msg'].removeprefix('Value error, ')}{found}"
