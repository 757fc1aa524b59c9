"""Page of the figures, made of the benchmarks' kept results: `make bench-docs`."""

import textwrap
from pathlib import Path
from typing import Final

from benchmarks.harness import BENCHMARKS, RESULTS, Result, read_result
from schemas.source import REPOSITORY

PAGE_FILE: Final = REPOSITORY / "docs" / "benchmarks.md"
TEMPLATE_FILE: Final = BENCHMARKS / "page.md.jinja"
WITHOUT_RESULT: Final = frozenset({"gpu_check"})
"""Benchmarks with a report of their own: the GPU check runs where the harness cannot be imported."""
WIDTH: Final = 120
MAX_LINES: Final = 26


def benchmark_names() -> set[str]:
    """Return the names of the benchmarks that keep results."""
    return {file.parent.name for file in BENCHMARKS.glob("*/__main__.py")} - WITHOUT_RESULT


def page(results: Path = RESULTS) -> str:
    """Return the page as Markdown, made of kept results; ValueError where the template lacks a benchmark."""
    from jinja2 import Environment, StrictUndefined

    named: set[str] = set()

    def result(name: str, most: int = MAX_LINES) -> str:
        named.add(name)
        return _block(name, read_result(name, results), most)

    template = TEMPLATE_FILE.read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701
    text = environment.from_string(template).render(result=result)
    if apart := named ^ benchmark_names():
        raise ValueError(f"{TEMPLATE_FILE.name} and the benchmarks differ in {', '.join(sorted(apart))}")
    return text


def _block(name: str, result: Result | None, most: int) -> str:
    if result is None:
        return f"`make bench NAME={name}` has not been run whole on this code."
    missed = {0: "every limit met", 1: "1 limit missed"}.get(result.missed, f"{result.missed} limits missed")
    lead = f"`{result.command}` at {result.commit} on {result.machine}; {missed}"
    parts = [_wrapped(f"{lead}:"), "\n".join(("```text", *result.printed, "```"))]
    if len(result.printed) > most:
        parts = [_wrapped(f"{lead}. What it printed is in `benchmarks/results/{name}.json`.")]
    return "\n\n".join([*parts, _wrapped(result.reading)] if result.reading else parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE_FILE.write_text(page(), encoding="utf-8")
