"""Insights: claims on given figures, each with an action, that code checks and data says."""

import json
import random
from typing import Any, Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.insights.best import best_of
from tasks.commerce.insights.checker import CitedFinding
from tasks.commerce.insights.grammar import findings_grammar
from tasks.commerce.insights.inputs import InsightsInputs
from tasks.commerce.insights.prompts import WORDING
from tasks.commerce.insights.render import render
from tasks.commerce.insights.scorer import REWARD
from tasks.commerce.insights.table import read_table
from tasks.commerce.insights.truth import metric
from tasks.commerce.insights.v42 import V42_REWARD
from tasks.commerce.reward import Reference

CELL_PARTS: Final = 4
"""Of a reference's cell: kind of row, row, column, figure."""
SHARE_MERE_VALUE: Final = 0.35
SHARE_NO_ACTION: Final = 0.5


def answer(reference: Reference) -> str:
    """Return the best findings on a reference's table; none if it knows none."""
    cells = [str(fact).split(" | ") for fact in reference.get("facts") or ()]
    if any(len(each) != CELL_PARTS for each in cells):
        return written([])
    rows: dict[str, list[str]] = {}
    for _, row, _, figure in cells:
        rows.setdefault(row, []).append(figure)
    titles = list(dict.fromkeys(column for _, _, column, _ in cells))
    lines = [[cells[0][0], *titles], *([row, *figures] for row, figures in rows.items())] if cells else []
    table = read_table("\n".join(" | ".join(line) for line in lines))
    return written([] if table is None else [_as_written(each) for each in best_of(table).findings])


def written(findings: list[dict[str, Any]]) -> str:
    """Return findings as the compact JSON of an answer."""
    return json.dumps({"achados": findings}, ensure_ascii=False, separators=(",", ":"))


def _as_written(finding: CitedFinding) -> dict[str, str]:
    known = finding._asdict()
    other = {"outra": finding.outra} if finding.outra else {}
    return {key: known[key] for key in ("coluna", "fato", "valor", "linha")} | other | {"acao": finding.acao}


def spoil(right: str, generator: random.Random) -> str:
    """Say mere values and leave actions out, each at times; a grammar lets nothing false be said."""
    findings = json.loads(right)["achados"]
    for finding in findings:
        if generator.random() < SHARE_MERE_VALUE:
            finding["fato"] = "valor"
            finding.pop("outra", None)
        if generator.random() < SHARE_NO_ACTION:
            finding["acao"] = ""
    return written(findings)


def grammar(prompt: str) -> str:
    """Return the grammar of the findings on a prompt's table; empty, which guides nothing, where none is known."""
    table = read_table(prompt)
    return findings_grammar(table) if table else ""


TASK: Final = CommerceTask(
    name="insights",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=InsightsInputs,
    answer=answer,
    rewards={"grounded": REWARD, "v4.2": V42_REWARD},
    metric=metric,
    answer_metrics=(
        *("in_form", "no_false_claim", "no_repetition", "says_more_than_values", "sensible_actions"),
        "all_kept",
    ),
    content=frozenset({"claims"}),
    faults=spoil,
    answers_in_json=True,
    asked_by_reference=True,
    prompt_is_unread=False,
    serve=lambda completion, prompt, _: render(completion, prompt),
    prompt_grammar=grammar,
)
