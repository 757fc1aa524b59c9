"""The page of an audit: it says what was found, shows hostile text as text, and is the same for the same audit."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from schemas.audit_record import AuditedTask, AuditRecord
from schemas.config.config import AuditConfig
from schemas.documents import RaterKind, Rollout, ScoredRollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit import figures
from tasks.audit.gate import AuditGate, Probe, TaskAudit, decide, judge
from tasks.audit.report import PastAudit, render, worst_disagreements
from tasks.audit.sheet import ScoredCompletion, ScoredItem
from tasks.audit.statistics import measure

pytestmark = pytest.mark.slow

HOSTILE = (
    '</div></section><script>alert(1)</script><img src="https://example.org/x" onerror=alert(1)> {{ 7 * 7 }} {% raw %}'
)
CONFIG = AuditConfig(require_human=False, min_scores_per_task=5)
PASSED: Mapping[str, Probe] = {"empty": Probe(True, "at most 0.000 on 3 prompts, may be 0.25")}


def judged(
    number: int, score: int | Mapping[str, int], reward: float, task: TaskName = "push", **texts: str
) -> ScoredCompletion:
    rollout = Rollout(
        prompt_id=texts.get("prompt_id", f"{number // 4:012}"),
        task=task,
        prompt=texts.get("prompt", f"pergunta {task} {number}."),
        completion=texts.get("completion", f"resposta {task} {number}."),
    )
    item = ScoredItem(
        audit_id=f"{task} {number}",
        stratum=texts.get("stratum", "random" if number % 2 else "by reward"),
        rollout=rollout,
        scores={"ana": score} if isinstance(score, int) else score,
        notes=(texts["note"],) if "note" in texts else (),
    )
    scored = ScoredRollout(
        **rollout.model_dump(),
        reward=reward,
        components={"good_length": reward},
        parsed=None,
        spec="grounded",
        reward_version="ab" * 32,
    )
    return ScoredCompletion(item, scored)


def agreeing(task: TaskName = "push", count: int = 12) -> list[ScoredCompletion]:
    return [judged(number, number % 5 + 1, (number % 5 + number / count) / 6, task) for number in range(count)]


@dataclass(frozen=True)
class Audited:
    """An audit of some completions, and the page that it makes."""

    tasks: Mapping[TaskName, TaskAudit]
    gate: AuditGate
    rows: Sequence[ScoredCompletion]
    record: AuditRecord

    def page(self, past: Sequence[PastAudit] = (), config: AuditConfig = CONFIG) -> str:
        return render(self.tasks, self.gate, self.rows, self.record, past, config)


def audited(
    rows: Sequence[ScoredCompletion],
    probes: Mapping[str, Probe] = PASSED,
    raters: Mapping[str, RaterKind] | None = None,
) -> Audited:
    raters = raters or {"ana": "human"}
    tasks = {}
    for task in TASK_NAMES:
        of_task = [row for row in rows if row.rollout.task == task]
        if of_task:
            agreement = measure(
                [row.rollout.reward for row in of_task],
                [row.item.scores for row in of_task],
                [row.rollout.prompt_id for row in of_task],
                [row.item.stratum == "random" for row in of_task],
                np.random.default_rng(0),
            )
            tasks[task] = judge(task, agreement, probes, CONFIG)
    gate = decide(tasks, (), raters.values(), CONFIG)
    record = AuditRecord(
        spec="grounded",
        reward_version="ab" * 32,
        sheet_sha256="cd" * 32,
        rollouts_sha256="ef" * 32,
        raters=dict(raters),
        verdict="passed" if gate.passed else "refused",
        reasons=gate.reasons,
        thresholds={},
        tasks={
            task: AuditedTask(
                n=found.agreement.overall.n,
                rho=found.agreement.overall.rho,
                rho_low=found.agreement.overall.rho_low,
                verdict=found.verdict,
            )
            for task, found in tasks.items()
        },
    )
    return Audited(tasks, gate, rows, record)


def past_audit(day: int, version: str, rho: float | None = 0.61, low: float | None = 0.43) -> PastAudit:
    record = AuditRecord(
        spec="v4.2",
        reward_version=version * 64,
        sheet_sha256="1" * 64,
        rollouts_sha256="2" * 64,
        raters={"bia": "human", "modelo": "model"},
        verdict="refused",
        reasons=("push: rho is low",),
        thresholds={},
        tasks={"push": AuditedTask(n=40, rho=rho, rho_low=low, verdict="disagrees")},
    )
    return PastAudit(datetime(2025, 1, day, 12, 30, tzinfo=UTC), record)


class Page(HTMLParser):
    """What a browser makes of a page: elements, what could fetch or run something, and the texts of table cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.active: list[tuple[str, str | None]] = []
        self.rows: list[list[str]] = []
        self.marked: list[str] = []
        self.text = ""
        self._in_cell = self._in_marked = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for name, value in attributes:
            inside = name in {"href", "xlink:href"} and value is not None and value.startswith("#")
            if name.startswith("on") or (name in {"src", "srcset", "href", "xlink:href", "action"} and not inside):
                self.active.append((name, value))
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell, self._in_marked = True, ("class", "bad") in attributes
            self.marked += [""] if self._in_marked else []

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._in_cell = self._in_marked = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_cell:
            self.rows[-1][-1] += data
        if self._in_marked:
            self.marked[-1] += data


@pytest.fixture(scope="module")
def hostile() -> str:
    """Return a page whose every text from outside is hostile."""
    texts: dict[str, Any] = dict.fromkeys(("prompt", "prompt_id", "stratum"), HOSTILE)
    texts |= {"completion": f"resposta \u202e\x1b\ud800 {HOSTILE}", "note": f"nota {HOSTILE}"}
    rows = [*agreeing(), judged(90, {HOSTILE: 1, "bia": 2}, 0.97, **texts)]
    of = audited(rows, {"prompt_echo": Probe(False, HOSTILE)}, {HOSTILE: "human", "bia": "rubric"})
    return of.page([past_audit(1, "<b>$")])


def test_text_of_models_prompts_and_raters_stays_text(hostile: str) -> None:
    page = Page(hostile)
    assert page.names.isdisjoint({"script", "img", "link", "iframe"})
    assert page.active == []
    assert hostile.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4
    for text in (HOSTILE, rf"resposta \u202e␛\ud800 {HOSTILE}", f"nota {HOSTILE}", "<b>$<b>$<b>$"):
        assert text in page.text
    assert "default-src 'none'; style-src 'unsafe-inline'" in hostile
    assert not re.search(r"@import|url\((?!#)", hostile)


def test_page_shows_the_numbers_of_the_audit() -> None:
    of = audited([*agreeing("push"), *agreeing("churn", 24)])
    page = Page(of.page())
    for task, found in of.tasks.items():
        figures, (first, second) = found.agreement, (row for row in page.rows if row[0].strip() == task)
        overall, half = figures.overall, figures.random_half
        for figure in (overall.rho, figures.within_prompt_rho, figures.tau_b, figures.pairwise_accuracy, figures.auc):
            assert f"{figure:.2f}" in map(str.strip, first)
        assert f"{overall.rho_low:.2f} to {overall.rho_high:.2f}" in map(str.strip, first)
        assert f"{half.rho:.2f} of {half.n}" in map(str.strip, first)
        assert f"{figures.constant_groups} of {figures.prompt_groups}" in map(str.strip, second)
        for interval in (overall.bonett_wright, overall.bca, half.bonett_wright):
            assert interval is not None
            assert f"{interval[0]:.2f} to {interval[1]:.2f}" in page.text
    for text in ("ab" * 32, "cd" * 32, "ef" * 32, "ana (human)"):
        assert text in page.text


def test_an_objection_is_marked_and_reported() -> None:
    rows = [judged(number, 5 - number % 5, (number % 5) / 4) for number in range(12)]
    refused = audited(rows, {"empty": Probe(False, "at most 0.9")})
    page = Page(refused.page())
    overall = refused.tasks["push"].agreement.overall
    assert overall.rho is not None
    assert page.marked[:2] == [f"−{-overall.rho:.2f}", "−1.00 to −1.00"]
    assert "0 of 1" in page.marked
    assert "training must not start." in page.text
    assert all(reason in page.text for reason in refused.gate.reasons[:12])
    passed = Page(audited(agreeing()).page())
    assert passed.marked == []
    assert "training may start." in passed.text


def test_history_shows_earlier_audits_the_newest_first_in_any_order() -> None:
    past = [past_audit(3, "3"), past_audit(9, "9", None, None), past_audit(1, "1")]
    text = audited(agreeing()).page(past)
    page = Page(text)
    lines = [[cell.strip() for cell in row] for row in page.rows if row[0] in {"1", "2", "3", "4"}]
    assert [line[2] for line in lines] == ["this audit", *(f"2025-01-0{day} 12:30:00 UTC" for day in (9, 3, 1))]
    assert lines[2] == ["2", "refused", lines[2][2], "v4.2333333333333", "human, model", "0.61from 0.43"]
    assert lines[1][-1] == "unknown"
    assert audited(agreeing()).page(past[::-1]) == text


def test_every_completion_has_a_point_among_those_of_its_stratum() -> None:
    strata = ["random"] * 7 + ["by reward"] * 5 + ["written"] * 2 + ["other"]
    rows = [judged(n, n % 5 + 1, n % 5 / 4, stratum=stratum) for n, stratum in enumerate(strata)]
    svg = figures.scatter(rows)
    points = svg[: svg.index("score on the sheet")]
    # matplotlib writes few points as paths, and many as uses of one.
    colours = re.findall(r'(?:<use |\n" clip-path=)[^>]*stroke: (#\w+); stroke-opacity: 0.75', points)
    assert [*Counter(colours).values()] == [7, 5, 3]
    for words in ("drawn at random: 7", "chosen by reward: 5", "chosen otherwise: 3"):
        assert words in svg


def test_the_furthest_apart_comes_first_by_its_place_within_its_task() -> None:
    small = [judged(n, n + 1, [0.9, 0.2, 0.3, 0.4, 0.5][n], "churn") for n in range(5)]
    large = [judged(n, n // 10 + 1, n / 40) for n in range(39)] + [judged(39, 5, 0.01)]
    found = worst_disagreements([*large, *small], 3)
    assert [(case.judged.item.audit_id, case.places, case.of) for case in found[:2]] == [
        ("push 39", -38.0, 40),
        ("churn 0", 4.0, 5),
    ]
    assert found[0].share == pytest.approx(38 / 40)
    assert worst_disagreements([judged(0, 3, 0.3), judged(1, 3, 0.1 + 0.2)], 20) == ()
