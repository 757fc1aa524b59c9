from html.parser import HTMLParser

from schemas.documents import RaterKind, ScoredRollout, SheetRow
from tasks.audit.gate import AuditGate, TaskAudit
from tasks.audit.probes import Probe
from tasks.audit.report import ScoredRow, render
from tasks.audit.statistics import Agreement

HOSTILE = "</div><script>alert(1)</script><img src=https://example.org/x onerror=alert(1)> {{ 7 * 7 }}"


def row(number: int, score: int, reward: float, rater_kind: RaterKind = "rubric") -> ScoredRow:
    sheet = SheetRow(
        audit_id=f"a{number}",
        task="push",
        prompt_id=f"p{number}",
        stratum="random",
        prompt=f"pergunta {number} {HOSTILE}",
        completion=f"resposta {number} {HOSTILE}",
        human_score=score,
        rater="r1",
        rater_kind=rater_kind,
        notes=HOSTILE,
    )
    rollout = ScoredRollout(
        prompt_id=sheet.prompt_id,
        task="push",
        prompt=sheet.prompt,
        completion=sheet.completion,
        reward=reward,
        components={"length": reward},
        parsed=None,
        spec="grounded",
        reward_version="v1",
    )
    return ScoredRow(sheet, rollout)


AGREEMENT = Agreement(
    n=5,
    rho=0.8,
    rho_low=None,
    rho_high=None,
    tau_b=0.7,
    pairwise_accuracy=0.8,
    within_prompt_rho=None,
    alpha=None,
    n_raters=1,
)


def page(rater_kind: RaterKind = "rubric", *, passed: bool = False) -> str:
    rows = [row(number, score, score / 5, rater_kind) for number, score in enumerate([1, 2, 3, 4, 5])]
    rows.append(row(9, 1, 0.95, rater_kind))
    audit = TaskAudit(AGREEMENT, {"prompt_echo": Probe(False, "at most 0.400")}, "probe failed")
    return render(
        {"push": audit}, AuditGate(passed, ("push: rho is low",)), rows, {"reward_version": "v1", "raters": ["r1"]}
    )


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)


def test_text_of_models_and_raters_stays_text() -> None:
    text = page()
    assert Elements(text).names.isdisjoint({"script", "img", "link", "iframe"})
    assert "&lt;script&gt;alert(1)" in text
    assert "{{ 7 * 7 }}" in text


def test_says_plainly_who_scored() -> None:
    assert "No person scored this sheet" in page("rubric")
    assert "rubric" in page("rubric")
    assert "No person scored" not in page("human")


def test_shows_verdict_reasons_probes_and_identities() -> None:
    text = page()
    for expected in ("training must not start", "push: rho is low", "prompt echo", "at most 0.400", "v1", "unknown"):
        assert expected in text
    assert "training may start" in page(passed=True)


def test_shows_the_worst_disagreements_first() -> None:
    text = page()
    assert text.index("resposta 9") < text.index("resposta 1") < text.index("resposta 2")
    assert text.count("resposta ") == 3


def test_same_rows_same_page() -> None:
    assert page() == page()
