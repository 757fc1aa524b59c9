"""Pages and Markdown of the reports, which trust no text of a model, a shopper or a rater.

A page is one HTML file that needs no network. Every printed text is escaped, and characters that are invisible, or that
change the reading direction, are spelled out.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.shown_text import as_shown
from tasks.report.language import CODES, language
from tasks.report.wording import counted, worded

if TYPE_CHECKING:
    from jinja2 import Template

DATA_FILES: Final = ("tasks/report/page.html.j2", "tasks/report/report.css")
# An underscore between letters or digits, as in sql_qa, is never markup.
_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")


def page_template(file: Path, **filters: Callable[..., str]) -> "Template":
    """Load a report's template, which extends `page.html.j2` and must be given every value that it names.

    It words its messages by `worded` and `counted` (`tasks.report.wording`), and may break them into lines.
    """
    return _template(file, _visible, filters)


def markdown_template(file: Path, **filters: Callable[..., str]) -> "Template":
    """Load a template of Markdown, which shows every value literally but those marked `safe`."""
    from jinja2.filters import do_mark_safe

    return _template(file, lambda value: value if _is_safe(value) else do_mark_safe(escaped(str(value))), filters)


def escaped(text: str) -> str:
    """Return a text on one line without any active Markdown, even if it is hostile."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(as_shown(text).split()))


def _template(file: Path, finalize: Callable[[Any], Any], filters: dict[str, Callable[..., str]]) -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([file.parent, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    environment.filters |= filters
    environment.globals |= {"language_code": CODES[language()], "worded": _worded, "counted": counted}
    return environment.get_template(file.name)


def _worded(message: str, **values: object) -> str:
    """Word a message that a template breaks into lines."""
    return worded(" ".join(message.split()), **values)


def _visible(value: Any) -> Any:
    """Spell out invisible characters in everything that the template prints except markup."""
    return as_shown(value) if isinstance(value, str) and not _is_safe(value) else value


def _is_safe(value: Any) -> bool:
    return hasattr(value, "__html__")
