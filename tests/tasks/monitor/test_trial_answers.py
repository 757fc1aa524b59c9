"""Rows of a trial: whose they are, which request a shadow shares, and that drift never sees them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from schemas.config.monitor import MonitorConfig
from schemas.tables.log_file import log_files
from tasks.monitor.logs import OF_OTHERS, ON_TRIAL, OWN_SHADOW, Logs, read_logs
from tasks.serve.gateway.answer_log import DailyFile, Role, ServedAnswer
from tests.tasks.monitor.logged import NOW, answer, write_log

CHAMPION = ("shop/3", "shop@champion")


def look(folder: Path, *answers: dict[str, Any], promoted_days_ago: float = 90, **config: Any) -> Logs:
    found = log_files(write_log(folder / "log.jsonl", answers))
    since = NOW - timedelta(days=promoted_days_ago)
    return read_logs(found, found.digests(), MonitorConfig(**config), CHAMPION, since, NOW)


def champions(request: str, **values: Any) -> dict[str, Any]:
    return answer(request_id=request, model_version="shop/3", role="champion", **values)


def challengers(request: str, version: str = "shop/4", **values: Any) -> dict[str, Any]:
    return answer(request_id=request, model_version=version, **{"role": "challenger", **values})


def shadows(request: str, of: str | None, **values: Any) -> dict[str, Any]:
    return challengers(request, role="shadow", shadow_of=of, **values)


def test_a_shadow_is_beside_the_answer_to_the_same_request_and_no_other(tmp_path: Path) -> None:
    trial = look(
        tmp_path,
        champions("a", days_ago=0.3),
        champions("b", days_ago=0.2),
        shadows("c", "b", days_ago=0.1),
        shadows("d", "of nobody"),
        shadows("e", None),
    ).trials
    assert trial.select("challenger", "answer", "shadow_of").rows() == [
        (None, 0, None),
        ("shop/4", 1, 0),
        ("shop/4", 2, None),
        ("shop/4", 3, None),
    ]
    assert "request_id" not in trial.columns


def test_the_gateways_own_lines_are_read(tmp_path: Path) -> None:
    def line(role: Role, version: str, request: str, of: str | None) -> ServedAnswer:
        made: dict[str, Any] = answer(request_id=request, model_version=version, shadow_of=of)
        return ServedAnswer(**made, role=role, valid=True, checked=True, reason=None, shown="x", guided=False, tokens=9)

    log = DailyFile(tmp_path, days=9)
    for each in (line("champion", "shop/3", "a", None), line("shadow", "shop/4", "b", "a")):
        log.append(each, NOW)
    log.close()
    found = log_files(tmp_path)
    trial = read_logs(found, found.digests(), MonitorConfig(), CHAMPION, None, NOW).trials
    assert trial.select("role", "shadow_of").rows() == [("champion", None), ("shadow", 0)]


def test_a_challenger_has_the_champions_answers_of_its_days_and_tasks_beside_it(tmp_path: Path) -> None:
    trial = look(
        tmp_path,
        champions("same"),
        champions("another day", days_ago=3),
        champions("another task", task="churn"),
        challengers("own"),
    ).trials
    assert trial.select("task", "challenger").rows() == [("push", None), ("push", "shop/4")]


def test_what_is_no_trial_is_in_none(tmp_path: Path) -> None:
    others = [
        challengers("a", version="shop/4+own-decoding"),
        challengers("b", version="another/4"),
        challengers("c", version="shop/4", role="larger"),
        challengers("d", version="shop/4", role=None),
        champions("f", days_ago=0.5),
    ]
    logs = look(tmp_path, *others, champions("e"))
    assert not logs.trials.height
    assert (logs.table.height, logs.left_out) == (2, {OF_OTHERS: 4})


def test_drift_reads_the_champions_answers_alone_each_once(tmp_path: Path) -> None:
    # A version that was promoted while it was on trial answers in its own shadow until the gateway is told.
    own = answer(request_id="s", model_version="shop/3", role="shadow", shadow_of="a")
    formerly = answer(request_id="f", model_version="shop/3", role="challenger")
    logs = look(tmp_path, champions("a"), own, formerly, challengers("c"))
    assert (logs.table.height, logs.left_out) == (2, {ON_TRIAL: 1, OWN_SHADOW: 1})
    assert not {"role", "shadow_of", "request_id"} & set(logs.table.columns)
    assert logs.trials.height == 3


def test_a_trial_goes_on_beyond_the_days_that_drift_looks_at_and_begins_with_the_champion(tmp_path: Path) -> None:
    pair = [(champions(f"a{day}", days_ago=day), shadows(f"b{day}", f"a{day}", days_ago=day)) for day in (0, 20, 40)]
    logs = look(tmp_path, *(row for both in pair for row in both), promoted_days_ago=30, days=7)
    assert (logs.table.height, logs.trials.height) == (1, 4)
