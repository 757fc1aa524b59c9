import hashlib
import subprocess
import sys

import pytest

from tasks.evaluate.report.figures import draw
from tests.tasks.evaluate.small_comparison import background, comparison


@pytest.mark.integration
def test_figures_are_the_same_in_another_process() -> None:
    code = (
        "import hashlib\n"
        "from tasks.evaluate.report.figures import draw\n"
        "from tests.tasks.evaluate.small_comparison import background, comparison\n"
        "print(hashlib.sha256(repr(draw(comparison(seeds=(7, 8)), background())).encode()).hexdigest(), end='')\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "7"}
    )
    assert other.stdout == hashlib.sha256(repr(draw(comparison(seeds=(7, 8)), background())).encode()).hexdigest()
