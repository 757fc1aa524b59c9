import re
from pathlib import Path
from typing import Final

import pytest

from schemas.source import REPOSITORY
from tasks.report.page import page_template

PAGE: Final = (
    '{% extends "page.html.j2" %}{% block title %}{{ title }}{% endblock %}'
    "{% block body %}<p>{{ text }}</p>{{ figure | safe }}{% endblock %}"
)


def rendered(folder: Path, source: str = PAGE, **values: str) -> str:
    file = folder / "report.html.j2"
    file.write_text(source, encoding="utf-8")
    return page_template(file, loud=str.upper).render(**{"title": "t", "text": "x", "figure": "<svg/>"} | values)


def test_a_page_has_the_shared_style_and_fetches_nothing(tmp_path: Path) -> None:
    page = rendered(tmp_path)
    style = (REPOSITORY / "tasks/report/report.css").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert f"<style>\n{style.strip()}" in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"@import|url\(|src=|href=", page)
    assert "<svg/>" in page


@pytest.mark.parametrize("place", ["title", "text"])
def test_a_text_is_escaped_and_what_nobody_sees_is_spelled_out(tmp_path: Path, place: str) -> None:
    page = rendered(tmp_path, **{place: "<script>\u202e\x1b"})
    assert "&lt;script&gt;\\u202e␛" in page
    assert "\u202e" not in page
