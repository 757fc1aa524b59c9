"""Logged answers for the tests of monitoring, as whoever serves writes them."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.commerce.push.phrases import suiting

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
PUSH_PROMPT = "Crie um push.\nProduto: vaso de cerâmica\nOferta: 20% de desconto"


def asked(number: int) -> dict[str, str]:
    """Return a prompt and a push without a fault; the next number's has another offer and another opener."""
    openers = suiting("vaso de cerâmica", "20% de desconto").general
    completion = f"{openers[number % len(openers)]} {{produto}} com {{oferta}}. Aproveite!"
    return {"prompt": PUSH_PROMPT.replace("20%", f"{number % 60 + 10}%"), "completion": completion}


PUSH = asked(0)["completion"]


def answer(*, days_ago: float = 0.0, **values: Any) -> dict[str, Any]:
    """Return one line of a log."""
    return {
        "task": "push",
        "prompt": PUSH_PROMPT,
        "completion": PUSH,
        "time": (NOW - timedelta(days=days_ago)).isoformat(),
        "latency_ms": 800.0,
        **values,
    }


def write_log(path: Path, answers: Iterable[dict[str, Any]]) -> Path:
    """Write a log as JSON Lines."""
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in answers), encoding="utf-8")
    return path
