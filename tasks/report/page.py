"""Page of a report: one HTML file that needs no network and trusts no text of a model, a shopper or a rater.

Every printed text is escaped, and characters that are invisible, or that change the reading direction, are spelled out.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.shown_text import as_shown
from tasks.report.wording import CODES, counted, language, worded

if TYPE_CHECKING:
    from jinja2 import Template

DATA_FILES: Final = ("tasks/report/page.html.j2", "tasks/report/report.css")


def page_template(file: Path, finalize: Callable[..., Any] | None = None, **filters: Callable[..., str]) -> "Template":
    """Load a report's template, which extends `page.html.j2` and must be given every value that it names.

    It words its messages by `worded` and `counted` (`tasks.report.wording`), and may break them into lines. Without
    `finalize`, which makes each value printable, control characters are made visible.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([file.parent, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize or _visible,
    )
    environment.filters |= filters
    environment.globals |= {"language_code": CODES[language()], "worded": _worded, "counted": counted}
    return environment.get_template(file.name)


def _worded(message: str, **values: object) -> str:
    """Word a message that a template breaks into lines."""
    return worded(" ".join(message.split()), **values)


def _visible(value: Any) -> Any:
    """Spell out invisible characters in everything that the template prints except markup."""
    return as_shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
