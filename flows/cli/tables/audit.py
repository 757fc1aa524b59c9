"""Terminal output of an audit."""

from collections.abc import Sequence
from itertools import groupby

from flows.runtime.console import print_table, show, warn
from schemas.shown_text import as_shown
from tasks.audit.disagreements import ScoredCompletion, worst_disagreements
from tasks.audit.sampling import Sample
from tasks.audit.stage import Audit

DISAGREEMENTS_SHOWN = 5
LONGEST_SHOWN = 300
MOST_PROBES = 3


def print_audit(audit: Audit) -> None:
    """Print the figures of each task, and the gate's verdict with its reasons."""
    rows = []
    for task, found in audit.tasks.items():
        agreement = found.agreement
        overall, passed = agreement.overall, sum(probe.passed for probe in found.probes.values())
        rows.append(
            (
                task,
                str(overall.n),
                _number(overall.rho),
                f"{_number(overall.rho_low)} to {_number(overall.rho_high)}",
                _number(agreement.random_half.rho),
                _number(agreement.within_prompt_rho),
                _number(agreement.alpha),
                f"{passed} of {len(found.probes)}",
                found.verdict,
            )
        )
    header = ("task", "scores", "rho", "95 % or wider", "random", "within", "alpha", "probes", "verdict")
    print_table("Rewards against scores", header, rows)
    show("passed: training may start" if audit.gate.passed else "refused: training must not start")
    for reason in audit.gate.reasons if audit.gate.passed else _objections(audit):
        show(f"- {reason}")


def _objections(audit: Audit) -> list[str]:
    """Return the gate's objections in words; of a task's failed probes the first few, and how many more there are."""
    shown: list[str] = []
    for task, objections in groupby(audit.gate.objections, key=lambda objection: objection.task):
        probes: list[str] = []
        for objection in objections:
            (probes if objection.check.startswith("probe:") else shown).append(str(objection))
        shown += probes[:MOST_PROBES]
        if len(probes) > MOST_PROBES:
            shown.append(f"{task}: and {len(probes) - MOST_PROBES} more probes failed, which the report names")
    return shown


def print_disagreements(judged: Sequence[ScoredCompletion]) -> None:
    """Print the largest differences between reward and people, with prompt and completion next to each other."""
    rows = [
        (
            as_shown(found.judged.rollout.prompt)[:LONGEST_SHOWN],
            as_shown(found.judged.rollout.completion)[:LONGEST_SHOWN],
            f"{found.judged.item.score:.3g}",
            f"{found.judged.rollout.reward:.2f}",
        )
        for found in worst_disagreements(judged, DISAGREEMENTS_SHOWN)
    ]
    print_table(
        f"The {len(rows)} worst disagreements",
        ("prompt", "completion", "score", "reward"),
        rows,
        texts=("prompt", "completion"),
        lines=True,
    )


def print_sample(sample: Sample) -> None:
    """Print how many completions of each task are on a new sheet, and notes about it."""
    print_table("Completions to score", ("task", "completions"), [(task, str(n)) for task, n in sample.drawn.items()])
    if sample.too_long:
        warn(f"{sample.too_long} completions are too long for a spreadsheet's cell, and are not on the sheet")
    if sample.alone:
        warn(
            f"no prompt of {', '.join(sample.alone)} has two completions on the sheet; give rollouts with "
            "several completions of each prompt, so that agreement within a prompt can be measured"
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
