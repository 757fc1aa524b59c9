import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tasks.evaluate.report.figures import draw
from tasks.report.canvas import write_figures
from tests.tasks.evaluate.small_comparison import background, comparison


def test_every_figure_is_written_as_a_file_that_stands_alone(tmp_path: Path) -> None:
    compared = comparison(seeds=(7, 8), tasks=("push", "churn"))
    write_figures(draw(compared, background()), tmp_path)
    paths = list((tmp_path / "figures").iterdir())
    assert {path.relative_to(tmp_path).as_posix() for path in paths} == {
        "figures/forest.svg",
        "figures/learning_curves.svg",
        "figures/differences_push.svg",
        "figures/differences_churn.svg",
    }
    for path in paths:
        root = ET.parse(path).getroot()  # noqa: S314 - of our own making
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("aria-label")


@pytest.mark.integration
def test_figures_are_the_same_in_another_process() -> None:
    code = (
        "import hashlib\n"
        "from tasks.evaluate.report.figures import draw\n"
        "from tests.tasks.evaluate.small_comparison import background, comparison\n"
        "drawn = draw(comparison(seeds=(7, 8)), background())\n"
        "print(hashlib.sha256(repr(drawn).encode()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, env={"PYTHONHASHSEED": hash_seed}
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(digests) == 1
