"""The page of an audit: it says what was found, shows hostile text as text, and is the same for the same audit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from schemas.audit_record import AuditedTask, AuditRecord
from schemas.config.config import AuditConfig
from schemas.documents import RaterKind, Rollout, ScoredRollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.gate import AuditGate, Objection, Probe, TaskAudit, decide, judge
from tasks.audit.report import PastAudit, render, write_page
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
        if tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._in_cell = self._in_marked = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_cell:
            self.rows[-1][-1] += data
        if self._in_marked:
            self.marked[-1] += data

    def row(self, *beginning: str) -> list[str]:
        """Return the cells of the one row that begins so."""
        (found,) = [row for row in self.rows if tuple(cell.strip() for cell in row[: len(beginning)]) == beginning]
        return [cell.strip() for cell in found]


@pytest.fixture(scope="module")
def hostile() -> str:
    """Return a page whose every text from outside is hostile."""
    rows = [
        *agreeing(),
        judged(
            90,
            {HOSTILE: 1, "bia": 2},
            0.97,
            prompt=HOSTILE,
            completion=f"resposta {HOSTILE}",
            note=f"nota {HOSTILE}",
            prompt_id=HOSTILE,
            stratum=HOSTILE,
        ),
    ]
    of = audited(rows, {"prompt_echo": Probe(False, HOSTILE)}, {HOSTILE: "human", "bia": "rubric"})
    return of.page([past_audit(1, "<b>$")])


def test_text_of_models_prompts_and_raters_stays_text(hostile: str) -> None:
    page = Page(hostile)
    assert page.names.isdisjoint({"script", "img", "link", "iframe"})
    assert page.active == []
    assert hostile.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4
    for text in (HOSTILE, f"resposta {HOSTILE}", f"nota {HOSTILE}", "<b>$<b>$<b>$"):
        assert text in page.text


def test_page_fetches_nothing(hostile: str) -> None:
    assert "default-src 'none'; style-src 'unsafe-inline'" in hostile
    assert not re.search(r"@import|url\((?!#)", hostile)


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u200b", r"\u200b"),
        ("\u2028", r"\u2028"),
        ("\x1b", "␛"),
        ("\x00", "␀"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_signs_that_nobody_sees_are_spelled_out(tmp_path: Path, sign: str, shown: str) -> None:
    of = audited([judged(0, 1, 0.9, completion=f"a{sign}b"), judged(1, 5, 0.1)])
    page = write_page(of.tasks, of.gate, of.rows, of.record, (), CONFIG, tmp_path).read_text(encoding="utf-8")
    assert sign not in page
    assert f"a{shown}b" in page


def test_page_shows_the_numbers_of_the_audit() -> None:
    of = audited([*agreeing("push"), *agreeing("churn", 24)])
    page = Page(of.page())
    for task, found in of.tasks.items():
        figures, (first, second) = found.agreement, (row for row in page.rows if row[0].strip() == task)
        overall, half = figures.overall, figures.random_half
        assert [cell.strip() for cell in first] == [
            task,
            found.verdict,
            str(overall.n),
            f"{overall.rho:.2f}",
            f"{overall.rho_low:.2f} to {overall.rho_high:.2f}",
            f"{half.rho:.2f} of {half.n}",
            f"{half.rho_low:.2f} to {half.rho_high:.2f}",
            f"{figures.within_prompt_rho:.2f}",
            f"{figures.tau_b:.2f}",
            f"{figures.pairwise_accuracy:.2f}",
            f"{figures.auc:.2f}",
        ]
        assert [cell.strip() for cell in second] == [
            task,
            "1 of 1",
            "1",
            "0",
            "unknown",
            f"{figures.constant_groups} of {figures.prompt_groups}",
            str(figures.worst_in_top_quartile),
            f"{figures.best_without_reward} of {figures.best}",
        ]
        for interval in (overall.bonett_wright, overall.bca, half.bonett_wright):
            assert interval is not None
            assert f"{interval[0]:.2f} to {interval[1]:.2f}" in page.text
    assert page.row("reward version") == ["reward version", "ab" * 32]
    assert page.row("sheet, sha256") == ["sheet, sha256", "cd" * 32]
    assert page.row("rollouts, sha256") == ["rollouts, sha256", "ef" * 32]
    assert page.row("raters") == ["raters", "ana (human)"]


def test_what_the_gate_objects_to_is_marked() -> None:
    rows = [judged(number, 5 - number % 5, (number % 5) / 4) for number in range(12)]
    page = Page(audited(rows, {"empty": Probe(False, "at most 0.9")}).page())
    overall = audited(rows).tasks["push"].agreement.overall
    assert overall.rho is not None
    assert page.marked[:2] == [f"−{-overall.rho:.2f}", "−1.00 to −1.00"]
    assert "0 of 1" in page.marked
    assert Page(audited(agreeing()).page()).marked == []


def test_verdict_and_reasons_are_reported() -> None:
    passed = audited(agreeing())
    assert passed.gate.passed, passed.gate.reasons
    assert "training may start." in passed.page()
    refused = replace(passed, gate=AuditGate((Objection("rho", "rho is low", "push"),), ("push: rho is low",)))
    page = refused.page()
    assert "training must not start." in page
    assert "<li>push: rho is low</li>" in page


def test_history_shows_earlier_audits_beside_this_one_the_newest_first() -> None:
    of = audited(agreeing())
    page = Page(of.page([past_audit(3, "3"), past_audit(9, "9", None, None), past_audit(1, "1")]))
    lines = [[cell.strip() for cell in row] for row in page.rows if row[0] in {"1", "2", "3", "4"}]
    overall = of.tasks["push"].agreement.overall
    now = f"{overall.rho:.2f} from {overall.rho_low:.2f}"
    assert lines == [
        ["4", "passed", "this audit", "grounded abababababab", "human", now],
        ["3", "refused", "2025-01-09 12:30:00 UTC", "v4.2 999999999999", "human, model", "unknown"],
        ["2", "refused", "2025-01-03 12:30:00 UTC", "v4.2 333333333333", "human, model", "0.61 from 0.43"],
        ["1", "refused", "2025-01-01 12:30:00 UTC", "v4.2 111111111111", "human, model", "0.61 from 0.43"],
    ]
    assert "No earlier audit" not in page.text


def test_same_audit_same_bytes() -> None:
    past = [past_audit(1, "1"), past_audit(2, "2")]
    assert audited(agreeing()).page(past) == audited(agreeing()).page(past[::-1])
