"""Terminal output of a comparison."""

import pytest

from flows.cli.tables.compare import print_report
from tests.tasks.evaluate.small_comparison import comparison


def test_what_was_found_of_the_general_instructions_stands_before_the_gates_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = comparison().report()
    print_report(report)
    assert "general instructions" not in "".join(capsys.readouterr())
    print_report({**report, "general": {"finding": "general instructions: tuned follows 3 of 180"}})
    shown = "".join(capsys.readouterr())
    assert shown.index("tuned follows 3 of 180") < shown.index("the gate says")
