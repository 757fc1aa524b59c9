"""Example of the browser, from the rows of a real run that are shipped: `python -m tasks.evaluate.completions.example`.

The run was one of the local profile, of simulated shoppers. `--keep PAGE` puts the rows of another run's page in its
place, whose texts are scrubbed already.
"""

import gzip
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from tasks.evaluate.completions.page import unpacked, write_page

EXAMPLE_FILE: Final = Path(__file__).resolve().parents[3] / "data" / "example_run.json.gz"
DEMO_FOLDER: Final = Path("build/demo")


def read_example() -> dict[str, Any]:
    """Return the rows of the shipped run."""
    rows: dict[str, Any] = json.loads(gzip.decompress(EXAMPLE_FILE.read_bytes()))
    return rows


def keep_example(page: Path, file: Path = EXAMPLE_FILE) -> None:
    """Keep the rows of a page of completions as the shipped ones.

    Raises:
        ValueError: The page carries none.
    """
    rows = {name: value for name, value in unpacked(page.read_text(encoding="utf-8")).items() if name != "words"}
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    """Write the page of the shipped run, or keep another run's rows."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="PAGE", help="the page whose rows are kept")
    page: Path | None = parser.parse_args().keep
    if page is None:
        print(write_page(read_example(), DEMO_FOLDER))
    else:
        keep_example(page)


if __name__ == "__main__":
    main()
