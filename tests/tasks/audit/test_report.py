"""The page of an audit: it says what was found, shows hostile text as text, and is the same for the same audit."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.documents import AuditRecord, read_audit_record
from tasks.audit.gate import Probe
from tasks.audit.report import render
from tasks.audit.sheet import ScoredCompletion
from tasks.audit.stage import Audit
from tests.page_elements import PageElements
from tests.tasks.audit.conftest import CONFIG

pytestmark = pytest.mark.slow

HOSTILE = (
    '</div></section><script>alert(1)</script><img src="https://example.org/x" onerror=alert(1)> {{ 7 * 7 }} {% raw %}'
)


@pytest.fixture
def record(result: Audit, output: Path) -> AuditRecord:
    assert result.gate.passed
    return read_audit_record(output)


def test_text_of_models_prompts_and_raters_stays_text(result: Audit, record: AuditRecord) -> None:
    known = result.judged[-1]
    completion = f"resposta \u202e\x1b\ud800 {HOSTILE}"
    rollout = known.item.rollout.model_copy(update={"prompt": HOSTILE, "prompt_id": HOSTILE, "completion": completion})
    item = replace(
        known.item, stratum=HOSTILE, rollout=rollout, scores={HOSTILE: 1, "bia": 2}, notes=(f"nota {HOSTILE}",)
    )
    row = ScoredCompletion(item, known.rollout.model_copy(update={"reward": 0.99}))
    churn = replace(result.tasks["churn"], probes={"prompt_echo": Probe(False, HOSTILE)})
    audit = replace(result, tasks={**result.tasks, "churn": churn}, judged=(*result.judged[:-1], row))
    named = record.model_copy(update={"raters": {HOSTILE: "human", "bia": "rubric"}, "reward_version": "<b>$" * 16})
    text = render(audit.tasks, audit.gate, audit.judged, named, CONFIG)
    page = PageElements(text)
    assert page.names.isdisjoint({"script", "img", "link", "iframe"})
    assert page.active == []
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4
    for part in (HOSTILE, rf"resposta \u202e␛\ud800 {HOSTILE}", f"nota {HOSTILE}", "<b>$<b>$<b>$"):
        assert part in page.text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert not re.search(r"@import|url\((?!#)", text)
