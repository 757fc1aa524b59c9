"""Terminal output of monitoring: one language in all of it."""

from datetime import date
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from flows.cli.tables.monitor import print_monitoring
from flows.stages.monitor import Monitored
from schemas.config.profiles import load_config
from schemas.config.report import Language
from tasks.monitor.logs import TWICE

DAY: Final = {
    "day": date(2026, 11, 21),
    "answers": 1200,
    "mean": 0.5,
    "low": 0.45,
    "high": 0.55,
    "valid_share": 0.985,
    "answered_share": 1.0,
    "latency_p50": 812.0,
    "latency_p95": 2400.0,
}
FEEDBACK: Final = {"lines": 3, "references": 1, "ratings": 2, "unknown": 0}
TRIAL: Final = {
    "challenger": "shop/4",
    "verdict": "may grow",
    "reason": "shop/4",
    "series": [
        {
            "name": "all",
            "answers": 1200,
            "mean": -0.0125,
            "low": -0.02,
            "high": 0.01,
            "finding": "no worse",
            "needed": 9,
        }
    ],
}
FOUND: Final[dict[str, Any]] = {
    "champion": {"model": "shop", "version": "3"},
    "logs": {
        "answers": 2400,
        "rows": 2500,
        "first_day": "2026-11-20",
        "last_day": "2026-11-21",
        "left_out": {TWICE: 100},
        "feedback": FEEDBACK,
    },
    "drift": {
        "by_form": ["push"],
        "series": [{"name": "push", "measure": "form", "promised": [0.9], "evidence": [0.0]}],
    },
    "known": [{"task": "push", "measure": "reference", "answers": 60, "mean": 0.5, "promised": 0.75}],
    "ratings": {"push": {"mean": 4.5, "answers": 2}},
    "notes": [],
    "trials": [TRIAL],
    "serving": {
        "source": "logged",
        "cost_per_analysis": 0.0004,
        "costed_share": 1.0,
        "api_price_per_analysis": 0.01,
        "break_even": 0,
    },
}


def printed(language: Language, capsys: pytest.CaptureFixture[str], reasons: tuple[str, ...] = ()) -> str:
    monitored = SimpleNamespace(found=FOUND, seconds={"read and check": 1.5}, reasons=reasons)
    days = [{**DAY, "task": task} for task in ("all", "push", "extraction")]
    print_monitoring(cast("Monitored", monitored), days, load_config("local", [f"report.language={language}"]))
    return capsys.readouterr().err


def test_in_portuguese_every_line_is(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed("pt", capsys)
    for line in (
        "A versão 3 de shop, o último dia de cada tarefa até 21/11/2026",
        "2.400 respostas desde 20/11/2026, de 2.500 linhas",
        "de fora: 100 entregues duas vezes",
        "push: 60 respostas com referência têm recompensa média de 0,500; na avaliação, 0,750.",
        "Notas de 1 a 5, em média: push 4,50 em 2 respostas.",
        "shop/4 menos o campeão",
        "pode crescer: shop/4",
        "Uma análise custa",
        "Em 21/11/2026, metade das respostas levou 812 ms, e 95%, até 2.400.",
        "segundos: ler e conferir 1,5",
        "nenhum alarme: nada se mostrou pior do que na avaliação; de push só se conhece a forma",
    ):
        assert line in shown
    for word in ("answers", "answered", "task", "mean", "worse", "form ", "none", "seconds", "alarm:"):
        assert word not in shown.replace("recompensa", "").replace("nenhum alarme:", "")
    # Off a terminal a table has 100 columns, and cuts what is wider.
    assert "…" not in shown


def test_in_english_as_before_and_alarms_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed("en", capsys, ("silence: no answer",))
    assert "2,400 answers since 2026-11-20, of 2,500 rows" in shown
    assert "left out: 100 delivered twice" in shown
    assert "alarms:\n- silence: no answer\n" in shown
    assert "no alarm" not in shown
