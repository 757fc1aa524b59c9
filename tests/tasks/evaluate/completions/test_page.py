"""Page of completions: its rows as they were given, its script and nothing else, at both widths and by the keyboard."""

import hashlib
import json
import re
import zlib
from base64 import b64decode, b64encode
from pathlib import Path

from tasks.evaluate.completions.page import read_example, render
from tasks.personal_data.scrub import scrub
from tests.tasks.evaluate.completions.logged import rollout, steps
from tests.tasks.evaluate.completions.test_rows import HOSTILE, document


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


def test_the_shipped_rows_hold_nothing_personal() -> None:
    assert [found for text in read_example()["texts"]["text"] if (found := scrub(text)[1])] == []
