"""Terminal output of `tucano doctor`: a line per finding, with its remedy below."""

from collections import Counter
from collections.abc import Sequence

from flows.doctor.finding import Finding
from flows.runtime.console import print_table, show


def print_findings(title: str, findings: Sequence[Finding], *, everything: bool) -> None:
    """Print the findings in the given order, then the number of bad ones.

    Args:
        title: Title of the table.
        findings: The findings.
        everything: Print also what the profile has no use for.
    """
    shown = [finding for finding in findings if everything or not finding.unused]
    print_table(
        title,
        ("check", "verdict", "found, and what to do"),
        [(finding.check, finding.verdict, _text(finding)) for finding in shown],
        texts=("verdict", "found, and what to do"),
    )
    if left := len(findings) - len(shown):
        show(f"{_counted(left, 'check')} of what the profile has no use for left out; --all shows them")
    counts = Counter(finding.verdict for finding in findings)
    if counts["fault"]:
        show(f"{_counted(counts['fault'], 'fault')}, {_counted(counts['warning'], 'warning')}: a run would fail")
    elif counts["warning"]:
        show(f"{_counted(counts['warning'], 'warning')}: a run can begin")
    else:
        show("all is well")


def _text(finding: Finding) -> str:
    return f"{finding.found}\n→ {finding.remedy}" if finding.remedy else finding.found


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
