"""Markdown templates that show any text literally, for the report and the model card."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.shown_text import as_shown
from tasks.report.wording import worded

if TYPE_CHECKING:
    from jinja2 import Template

# An underscore between letters or digits, as in sql_qa, is never markup.
_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")


def escaped(text: str) -> str:
    """Return a text on one line without any active Markdown, even if it is hostile."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(as_shown(text).split()))


def markdown_template(file: Path, **filters: Callable[..., str]) -> "Template":
    """Load a template, which escapes every value that it prints but those marked `safe`, and words messages."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from jinja2.filters import do_mark_safe

    def literal(value: Any) -> Any:
        return value if hasattr(value, "__html__") else do_mark_safe(escaped(str(value)))

    environment = Environment(
        loader=FileSystemLoader(file.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=literal,
    )
    environment.filters |= filters
    environment.globals |= {"worded": worded}
    return environment.get_template(file.name)
