"""Page of completions: its rows as they were given, its script and nothing else, at both widths and by the keyboard."""

import hashlib
import json
import re
import shutil
import zlib
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Final

import pytest

from tasks.evaluate.completions.page import (
    EXAMPLE_FILE,
    read_example,
    render,
    write_page,
)
from tasks.evaluate.completions.rows import as_document
from tasks.personal_data.scrub import scrub, scrub_column
from tests.completions_page import NAMES, run_in_page
from tests.tasks.evaluate.completions.logged import PROMPTS, answers, rollout, steps, training
from tests.tasks.evaluate.completions.test_rows import HOSTILE, document

USE: Final = """
  const part = (id) => page.getElementById(id);
  const key = (id, name) => part(id).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const overflow = () => page.documentElement.scrollWidth - page.documentElement.clientWidth;
  const found = { all: part("count").textContent, overflow: overflow() };
  // The last step, its worst rollout, and its text: a click each.
  const chart = part("chart").getBoundingClientRect();
  const last = { clientX: chart.right - 12, clientY: chart.top + 9, bubbles: true };
  part("chart").dispatchEvent(new MouseEvent("click", last));
  found.step = part("count").textContent;
  page.querySelector(".row").click();
  found.detail = part("detail").textContent;
  found.scripts = page.scripts.length;
  found.overflowInUse = overflow();
  key("list", "End");
  found.last = page.querySelector('[aria-selected="true"].row').textContent;
  part("clear").click();
  key("chart", "Home");
  key("chart", "Enter");
  found.firstStep = part("count").textContent;
  change(part("task"), "4", "change");
  found.nothing = part("count").textContent;
  part("tab-answers").click();
  found.answers = part("count").textContent;
  page.querySelector(".row").click();
  found.beside = [...page.querySelectorAll("#detail .beside .text")].map((each) => each.textContent);
  found.overflowOfAnswers = overflow();
  return found;
"""


def test_a_page_carries_its_rows_and_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    rows = document(tmp_path, steps())
    page = render(rows)
    data = page.partition('id="rows">')[2].partition("<")[0]
    carried = json.loads(zlib.decompress(b64decode(data)))
    assert {name: carried[name] for name in rows} == rows
    assert render(document(tmp_path, steps())) == page


def test_no_text_of_a_model_is_in_the_markup_and_only_its_own_script_may_run(tmp_path: Path) -> None:
    page = render(document(tmp_path, [rollout(0, 1, HOSTILE, 0.5)]))
    assert "alert(1)" not in page
    script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\">" in page
    assert page.count("<script") == 2
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page) == []


def test_a_curve_leads_to_its_completions_in_a_browser_at_both_widths(tmp_path: Path) -> None:
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        pytest.skip(f"none of {', '.join(NAMES)} is on PATH")
    rollouts = [*steps(), rollout(0, 3, HOSTILE, 0.0), rollout(0, 3, "Tênis a com 10%", 1.0)]
    models = {"base": answers("bom", "ruim"), "tuned": answers("<b>bom</b>", "bom", reward=1.0)}
    rows = as_document([training(tmp_path, rollouts)], PROMPTS, models, scrub_column)
    for found in run_in_page(chromium, write_page(rows, tmp_path), USE, (1280, 390)):
        assert found["all"].startswith("14 rollouts, 14 distinct answers")
        assert found["step"].startswith("2 rollouts, 2 distinct answers, mean reward 0.500")
        assert "</script><script>alert(1)</script> ␛[2J \\u202e\\u200b <|im_start|> ligue [TELEFONE]" in found["detail"]
        assert PROMPTS[0].prompt in found["detail"]
        assert found["scripts"] == 1  # Its own; the rows' element is gone once it is read.
        assert "Tênis a com 10%" in found["last"]
        assert found["firstStep"].startswith("6 rollouts")
        assert found["nothing"].startswith("Nothing fits")
        assert found["answers"].startswith("2 prompts, 2 distinct answers of tuned, mean difference +0.500")
        assert found["beside"][:2] == ["bom", "<b>bom</b>"]
        assert '"polarity": "positive"' in found["beside"][2]
        assert (found["overflow"], found["overflowInUse"], found["overflowOfAnswers"]) == (0, 0, 0)


def test_the_shipped_rows_have_the_form_that_the_page_reads(tmp_path: Path) -> None:
    example, made = read_example(), document(tmp_path, steps())
    assert example.keys() == made.keys()
    for name in ("prompts", "rollouts", "answers", "texts"):
        assert example[name].keys() == made[name].keys()
    assert len(example["rollouts"]["step"]) == example["logged"] > 1_000
    assert example["models"][:2] == ["base", "tuned"]
    assert EXAMPLE_FILE.stat().st_size < 300_000


def test_the_shipped_rows_hold_nothing_personal() -> None:
    assert [found for text in read_example()["texts"]["text"] if (found := scrub(text)[1])] == []
