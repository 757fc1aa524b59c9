"""Page of the browser: one HTML file that needs no network, with its rows packed into it.

The rows are JSON, deflated and in base64: no text of a model or a shopper is ever part of the page's markup, and the
script, the only one that the page's policy lets run, writes them as text. Equal rows give equal bytes.
"""

import gzip
import hashlib
import json
import zlib
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tasks.report.page import page_template
from tasks.report.wording import worded

PAGE_FILE: Final = "completions.html"
EXAMPLE_FILE: Final = Path(__file__).resolve().parents[3] / "data" / "example_run.json.gz"
DATA_FILES: Final = (
    "tasks/evaluate/completions/completions.html.j2",
    "tasks/evaluate/completions/rows.js",
    "tasks/evaluate/completions/chart.js",
    "tasks/evaluate/completions/list.js",
    "tasks/evaluate/completions/detail.js",
    "tasks/evaluate/completions/main.js",
)
WORDS: Final = (
    "reward", "advantage", "tokens", "distinct answers", "step", "seed", "reference", "prompt", "answer", "answers",
    "distinct", "alarm", "ground truth", "mean reward", "all tasks", "cut off at the token limit",
    "the reference's answer", "not trained on", "and {n} more characters", "no prompt is known", "no reference",
    "Components", "Its group at this step", "This prompt over time", "Answers by model", "Other models' answers",
    "Choose a row to read it.", "Nothing fits; take a filter off.", "step {step}: {value} over {n} rollouts",
    "Mean over the rollouts of each step, thin, and over its neighbours, thick; dashed: on validation.",
    "{rollouts} rollouts, {distinct} distinct answers, mean reward {reward}",
    "{prompts} prompts, {distinct} distinct answers of {model}, mean difference {difference}",
)  # fmt: skip
"""Messages of the script, by which it says everything."""

_ROOM: Final = Path(__file__).parent
_TEMPLATE: Final = _ROOM / "completions.html.j2"
_SCRIPTS: Final = tuple(Path(name).name for name in DATA_FILES if name.endswith(".js"))


def write_page(rows: Mapping[str, Any], folder: Path) -> Path:
    """Write `completions.html` into a folder, which is created if missing, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / PAGE_FILE
    file.write_text(render(rows), encoding="utf-8")
    return file


def render(rows: Mapping[str, Any]) -> str:
    """Render the page."""
    script = "".join((_ROOM / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    said = {message: worded(message) for message in WORDS}
    return page_template(_TEMPLATE).render(
        rows=rows,
        shown=len(rows["rollouts"]["step"]),
        test_prompts=len(set(rows["answers"]["prompt"])),
        script=script,
        script_digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=packed({"words": said, **rows}),
    )


def packed(document: Mapping[str, Any]) -> str:
    """Return a document as the page carries it: JSON, deflated and in base64."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), level=6)).decode()


def read_example() -> dict[str, Any]:
    """Return the rows of the shipped run."""
    rows: dict[str, Any] = json.loads(gzip.decompress(EXAMPLE_FILE.read_bytes()))
    return rows
