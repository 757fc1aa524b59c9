"""Page of the figures: nothing but kept results and the template's words."""

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.harness import BENCHMARKS, Result
from benchmarks.page import PAGE_FILE, benchmark_names
from schemas.source import REPOSITORY

NAMED = re.compile(r"make bench NAME=([a-z_]+)")


def test_the_page_is_what_make_bench_docs_writes() -> None:
    assert PAGE_FILE.read_text(encoding="utf-8") == page.page(), "run make bench-docs"


def test_another_result_is_another_page(tmp_path: Path) -> None:
    printed = ["a table", "MISSED: 41, limit 42"]
    result = Result(command="make bench NAME=step", machine="a machine", commit="7dde83d", missed=1, printed=printed)
    (tmp_path / "step.json").write_text(result.model_dump_json(), encoding="utf-8")
    text = page.page(tmp_path)
    lead = "`make bench NAME=step` at 7dde83d on a machine; 1 limit missed:"
    assert f"{lead}\n\n```text\na table\nMISSED: 41" in text
    assert text.count("has not been run whole on this code") == len(benchmark_names()) - 1


def test_a_benchmark_that_the_template_lacks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = tmp_path / "page.md.jinja"
    template.write_text(page.TEMPLATE_FILE.read_text(encoding="utf-8").replace('{{ result("ledger") }}', ""))
    monkeypatch.setattr(page, "TEMPLATE_FILE", template)
    with pytest.raises(ValueError, match=r"differ in ledger$"):
        page.page()


def test_every_benchmark_that_a_file_names_is_one() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    files = [REPOSITORY / line for line in listed.splitlines() if line.endswith((".md", ".py", ".toml", "Makefile"))]
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file() and "tests" not in file.parts]
    named = {name for text in texts for name in NAMED.findall(text)}
    assert len(named) > 5
    # A page gives `all` as one that does not exist.
    assert named - {"all"} <= {file.parent.name for file in BENCHMARKS.glob("*/__main__.py")}
