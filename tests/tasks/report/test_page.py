import re
from pathlib import Path
from typing import Final

import pytest
from jinja2 import UndefinedError
from jinja2.exceptions import TemplateRuntimeError

from schemas.source import REPOSITORY
from tasks.report.page import DATA_FILES, page_template

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


def test_the_style_of_a_page_follows_the_shared_one(tmp_path: Path) -> None:
    page = rendered(tmp_path, PAGE + "{% block style %}{{ super() }}h1 { color: red; }{% endblock %}")
    assert 0 < page.index(":root") < page.index("h1 { color: red; }") < page.index("</style>")


@pytest.mark.parametrize("place", ["title", "text"])
def test_a_text_is_escaped_and_what_nobody_sees_is_spelled_out(tmp_path: Path, place: str) -> None:
    page = rendered(tmp_path, **{place: "<script>\u202e\x1b"})
    assert "&lt;script&gt;\\u202e␛" in page
    assert "\u202e" not in page


def test_filters_are_the_page_s_own(tmp_path: Path) -> None:
    assert "OLÁ" in rendered(tmp_path, PAGE.replace("{{ text }}", "{{ text | loud }}"), text="olá")


def test_a_value_that_is_not_given_is_no_empty_text(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError, match="forgotten"):
        rendered(tmp_path, PAGE.replace("{{ text }}", "{{ forgotten }}"))


@pytest.mark.parametrize("block", ["title", "body"])
def test_a_page_without_title_or_body_is_refused(tmp_path: Path, block: str) -> None:
    source = re.sub(rf"{{% block {block} %}}.*?{{% endblock %}}", "", PAGE)
    with pytest.raises(TemplateRuntimeError, match=block):
        rendered(tmp_path, source)


def test_every_file_that_a_page_is_made_of_is_declared() -> None:
    folder = REPOSITORY / "tasks/report"
    files = {file.relative_to(REPOSITORY).as_posix() for file in folder.iterdir() if file.is_file()}
    assert {file for file in files if not file.endswith(".py")} == set(DATA_FILES)
