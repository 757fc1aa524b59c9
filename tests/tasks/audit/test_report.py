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
from tasks.audit.disagreements import ScoredCompletion, worst_disagreements
from tasks.audit.gate import AuditGate, Objection, Probe, TaskAudit, decide, judge
from tasks.audit.report import AUDITS_SHOWN, WORST_SHOWN, PastAudit, render, write_page
from tasks.audit.sheet import ScoredItem
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


def test_signs_that_nobody_sees_are_spelled_out_wherever_they_come_from() -> None:
    sign = "\u202e"
    text = f"a{sign}"
    rows = [
        judged(0, {text: 1}, 0.9, prompt=text, completion=text, note=text, prompt_id=text, stratum=text),
        judged(1, 5, 0.1),
    ]
    page = audited(rows, {text: Probe(False, text)}, {text: "human"}).page([past_audit(1, sign)])
    assert sign not in page
    assert page.count(r"\u202e") >= 9


def test_lines_and_emoji_stay_as_they_are() -> None:
    family = "Olá!\n👩\u200d👩\u200d👧 Promoção"
    assert family in audited([judged(0, 1, 0.9, completion=family), judged(1, 5, 0.1)]).page()


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


def test_many_reasons_are_all_there() -> None:
    reasons = tuple(f"reason {number}." for number in range(40))
    page = replace(audited(agreeing()), gate=AuditGate((Objection("rho", "low"),), reasons)).page()
    assert "and 28 more reasons" in page
    assert all(f"<li>{reason}</li>" in page for reason in reasons)


@pytest.mark.parametrize(
    ("raters", "warning"),
    [
        ({"regra": "rubric"}, "No person scored this sheet"),
        ({"modelo": "model", "regra": "rubric"}, "No person scored this sheet"),
        ({"ana": "human", "regra": "rubric"}, "Not only people scored this sheet"),
        ({"ana": "human"}, None),
    ],
)
def test_page_says_plainly_who_scored(raters: Mapping[str, RaterKind], warning: str | None) -> None:
    page = audited(agreeing(), raters=raters).page()
    reported = [text for text in ("No person scored this sheet", "Not only people scored this sheet") if text in page]
    assert reported == ([warning] if warning else [])


def test_what_is_unknown_is_said() -> None:
    rows = [judged(number, number % 5 + 1, 0.5, stratum="written") for number in range(10)]
    page = Page(audited(rows).page())
    assert page.row("push", "disagrees", "10")[3:7] == ["unknown"] * 4
    # Where nothing was drawn by the project there is nothing to set apart: neither columns nor a legend.
    assert "drawn at random" not in page.text
    assert "chosen otherwise" not in page.text
    assert "10 completions" in page.text
    mixed = Page(audited([*rows, *agreeing("churn")]).page())
    assert mixed.row("push", "disagrees", "10")[5:7] == ["–", "–"]
    assert "No completion was drawn at random" in mixed.text


def test_one_completion_makes_a_page() -> None:
    page = Page(audited([judged(0, 3, 0.5)]).page())
    assert page.row("push", "too few scores", "1")[3:5] == ["unknown", "unknown"]
    assert "both put every completion in the same place" in page.text


def test_failed_probes_stand_open_and_passed_ones_are_folded() -> None:
    probes = {
        "empty": Probe(True, "at most 0.0"),
        "prompt_echo": Probe(False, "at most 0.4"),
        "refusal": Probe(True, "at most 0.1"),
    }
    page = audited(agreeing(), probes).page()
    failed, passed = page.index("at most 0.4</td>"), page.index("at most 0.0</td>")
    assert page.index("1 of 3 probes failed") < failed < page.index("2 of 3 probes passed") < passed
    assert page.rindex("<details>", 0, passed) > failed
    assert "1 of 1 probes passed" in audited(agreeing()).page()


def test_the_twenty_worst_are_shown_in_order_with_their_texts() -> None:
    rows = [judged(number, number % 5 + 1, number * 7 % 31 / 31) for number in range(31)]
    rows += [judged(number, number % 5 + 1, number * 11 % 17 / 17, "churn") for number in range(17)]
    worst = worst_disagreements(rows, len(rows))
    page = audited(rows).page()
    shown = page[page.index("The 20 worst disagreements") : page.index("<h2>History</h2>")]
    assert WORST_SHOWN == 20 < len(worst)
    cases = re.split(r'<div class="case" id="worst-\d+">', shown)[1:]
    assert len(cases) == WORST_SHOWN
    for case, text in zip(worst[:WORST_SHOWN], cases, strict=True):
        assert case.judged.rollout.prompt in text
        assert case.judged.rollout.completion in text
        direction = "high" if case.places > 0 else "low"
        assert f"reward {case.judged.rollout.reward:.3f}: the reward stands too {direction} by" in text
    assert sorted((case.share for case in worst[:WORST_SHOWN]), reverse=True) == [case.share for case in worst[:20]]


def test_a_task_names_its_own_worst_and_leads_to_those_among_the_twenty() -> None:
    rows = [judged(number, 5 - number // 5, number / 25) for number in range(25)] + agreeing("churn", 12)
    page = audited(rows).page()
    section = page[page.index("<h2>churn</h2>") : page.index("The 20 worst disagreements")]
    worst = worst_disagreements([row for row in rows if row.rollout.task == "churn"], 3)
    assert len(worst) == 3
    assert all(case.judged.rollout.completion in section for case in worst)
    assert '<a href="#worst-1">No. 1 of all</a>' in page[page.index("<h2>push</h2>") : page.index("<h2>churn</h2>")]


def test_a_disagreement_shows_scores_notes_and_components() -> None:
    rows = [*agreeing(), judged(90, {"ana": 1, "bia": 2}, 0.97, note="não é um push")]
    page = Page(audited(rows, raters={"ana": "human", "bia": "human"}).page())
    for text in ("score 1.5, reward 0.970", "scores: 1 (ana), 2 (bia)", "não é um push", "good length 0.97"):
        assert text in page.text


def test_long_texts_are_cut_and_the_cut_is_said() -> None:
    rows = [*agreeing(), judged(90, 1, 0.97, completion="a" * 5_000, prompt="b" * 901, note="c" * 1_000)]
    page = audited(rows).page()
    assert "a" * 900 in page
    assert "a" * 901 not in page
    for rest in (4_100, 1, 100):
        assert f"and {rest} more characters" in page


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
    assert 'aria-label="rho of each task over the audits"' in of.page([past_audit(1, "1")])


def test_first_audit_has_no_history() -> None:
    page = audited(agreeing()).page()
    assert "No earlier audit." in page
    assert "rho of each task over the audits" not in page


def test_long_history_is_cut_and_the_cut_is_said() -> None:
    page = Page(audited(agreeing()).page([past_audit(day, "1") for day in range(1, 26)]))
    numbers = [row[0] for row in page.rows if len(row) == 6 and row[0].isdigit()]
    assert numbers == [str(number) for number in range(26, 26 - AUDITS_SHOWN, -1)]
    assert "and 6 older audits" in page.text


def test_same_audit_same_bytes() -> None:
    past = [past_audit(1, "1"), past_audit(2, "2")]
    assert audited(agreeing()).page(past) == audited(agreeing()).page(past[::-1])


def test_five_hundred_completions_make_a_page_that_a_browser_opens() -> None:
    rows = [row for task in TASK_NAMES for row in agreeing(task, 84)]
    assert len(audited(rows).page().encode()) < 1_000_000
