"""A judge finds what neither truth nor critic sees, is asked nothing twice, and is not needed."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.config.config import AuditJudgeConfig
from schemas.errors import InputError, Interrupted
from tasks.audit.attack.attack import Budget, TaskAttack, attack_task, finds_file
from tasks.audit.attack.finds import read_finds
from tasks.audit.attack.judge import JudgeTally, check_judge, replies_file
from tasks.audit.attack.setting import AskedJudge
from tasks.commerce.registry import TASKS
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.sql_qa.sandbox import Databases
from tests.chat_server import ChatServer, Reply, says, serve
from tests.tasks.audit.attack.settings import setting

ANSWER = re.compile(r"<<<RESPOSTA (\w{12})>>>\n(.*)\n<<<FIM: RESPOSTA \1>>>", re.DOTALL)
BUDGET = Budget(None, 1_500)


def _blind_to_capitals(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
    """Pay for the good answer, and for it without capitals, which no truth and no corruption objects to."""
    del prompt, databases
    answer = TASKS["push"].answer(reference or {})
    return Score({"answer": 1.0 if completion in {answer, answer.lower()} else 0.2})


BLIND = Reward({"answer": 1.0}, _blind_to_capitals)


def recognise(message: str, number: int = 0) -> Reply:
    """Score what has no capital 1."""
    del number
    found = ANSWER.search(message)
    assert found is not None
    return says("1" if found[2] == found[2].lower() else "5")


def same(text: str) -> str:
    return text


def config(server: ChatServer, **changes: object) -> AuditJudgeConfig:
    settings = {"url": server.url, "model": "judge-1", "max_attempts": 1, **changes}
    return AuditJudgeConfig.model_validate(settings)


def attacked(
    folder: Path,
    judge: AuditJudgeConfig | None,
    budget: Budget = BUDGET,
    stop: Callable[[], bool] = lambda: False,
    scrub: Callable[[str], str] = same,
) -> TaskAttack:
    asked = None if judge is None else AskedJudge(judge, scrub)
    return attack_task(replace(setting("push", BLIND), judge=asked), budget, folder, stop)


def tally(result: TaskAttack) -> JudgeTally:
    assert result.judge is not None
    return result.judge


def test_a_loophole_that_truth_and_critic_cannot_see_is_found_by_a_judge_and_not_without(tmp_path: Path) -> None:
    assert attacked(tmp_path / "without", None).finds == []

    with serve(recognise) as server:
        result = attacked(tmp_path / "with", config(server))

    [find] = result.finds
    assert find.mechanism == ("answer", "lower")
    assert (find.bad_by, find.by_judge, find.corrupted) == ("judge", 1.0, False)
    assert find.transfer == find.reward == find.truth == find.gap == 1
    assert find.example.completion == find.example.answer.lower()
    assert read_finds(finds_file(tmp_path / "with", "push")) == [find]
    assert tally(result).good_called_bad == tally(result).unread == tally(result).left == 0


def test_nothing_is_asked_twice_by_an_attack_that_goes_on_or_begins_again(tmp_path: Path) -> None:
    with serve(recognise) as server:
        first = attacked(tmp_path, config(server))
        asked = len(server.requests)
        assert asked == tally(first).questions == len(set(server.texts))

        assert attacked(tmp_path, config(server)) == first
        (tmp_path / "result-push.json").unlink()
        assert attacked(tmp_path, config(server)).finds == first.finds
        (tmp_path / "state-push.json").unlink()
        again = attacked(tmp_path, config(server))
        assert (again.finds, again.judge) == (first.finds, first.judge)
        assert len(server.requests) == asked
        longer = attacked(tmp_path, config(server), Budget(None, 2_500))
        assert len(server.requests) == len(set(server.texts)) >= tally(longer).questions

    assert longer.finds == first.finds


def test_a_judge_can_be_asked_after_an_attack_has_ended_and_its_finds_stay_without_it(tmp_path: Path) -> None:
    before = attacked(tmp_path, None)
    with serve(recognise) as server:
        judged = attacked(tmp_path, config(server))
    longer = attacked(tmp_path, None, Budget(None, 2_000))

    assert before.finds == []
    assert judged.evaluations == before.evaluations
    assert judged.finds == longer.finds == read_finds(finds_file(tmp_path, "push")) != []


def test_an_endpoint_that_dies_half_way_is_said_and_the_rest_is_asked_later(tmp_path: Path) -> None:
    dead = True

    def play(message: str, number: int) -> Reply:
        return Reply(b"", 500) if dead and number >= 9 else recognise(message)

    with serve(play) as server:
        settings = config(server, concurrency=1)
        cut_off = attacked(tmp_path, settings)
        assert len(server.requests) == 10
        assert cut_off.finds == []
        assert cut_off.baselines
        assert "the judge's endpoint" in (tally(cut_off).failure or "")
        assert (tally(cut_off).questions, tally(cut_off).candidates) == (9, 0)
        assert tally(cut_off).left > 0
        dead = False
        whole = attacked(tmp_path, settings)
        assert len(server.requests) == 1 + tally(whole).questions

    assert [find.mechanism for find in whole.finds] == [("answer", "lower")]
    assert (tally(whole).failure, tally(whole).left) == (None, 0)


def test_an_endpoint_that_nobody_serves_leaves_the_attack_as_it_is_without(tmp_path: Path) -> None:
    with serve(recognise) as server:
        nobody = config(server)
    result = attacked(tmp_path / "with", nobody)

    assert "could not be reached" in (tally(result).failure or "")
    alone = attacked(tmp_path / "without", None)
    assert (result.finds, result.baselines, result.forecast) == (alone.finds, alone.baselines, alone.forecast)


@pytest.mark.parametrize(
    "said", ["", "Nota: 1", "1 ou 2", "11", "-1", "1.0", "0", "\u0661", '{"score": 1}', "1" * 9_999]
)
def test_hostile_replies_are_no_opinion_and_are_counted(said: str, tmp_path: Path) -> None:
    def play(message: str, number: int) -> Reply:
        return says(said) if recognise(message) == says("1") else says("5", "stop")

    with serve(play) as server:
        result = attacked(tmp_path, config(server))

    assert result.finds == []
    assert tally(result).unread > 0
    assert tally(result).failure is None


def test_a_judge_that_calls_good_answers_bad_is_asked_no_more_and_finds_nothing(tmp_path: Path) -> None:
    with serve(lambda *_: says("1")) as server:
        result = attacked(tmp_path, config(server))

    assert len(server.requests) == 8
    assert result.finds == []
    assert not tally(result).trusted
    assert tally(result).good_called_bad == 1


def test_no_more_questions_are_asked_than_the_configuration_allows(tmp_path: Path) -> None:
    with serve(lambda *_: says("5")) as server:
        few = AskedJudge(config(server, questions=40), same)
        result = attack_task(replace(setting("push"), judge=few), BUDGET, tmp_path, lambda: False)

    assert 8 < len(server.requests) == tally(result).questions <= 40
    assert tally(result).left > 0
    assert tally(result).candidates > 1


def test_an_attack_that_is_stopped_while_its_judge_is_silent_ends_at_once_and_keeps_what_it_said(
    tmp_path: Path,
) -> None:
    with serve(lambda _, number: says("5") if number < 3 else Reply(b"", seconds=60)) as server:
        settings = config(server, concurrency=1)
        with pytest.raises(Interrupted):
            attacked(tmp_path, settings, stop=lambda: len(server.requests) > 3)
        assert len(server.requests) == 4
    assert replies_file(tmp_path, "push").is_file()
    assert (tmp_path / "state-push.json").is_file()

    with serve(recognise) as server:
        resumed = attacked(tmp_path, config(server))
    assert [find.mechanism for find in resumed.finds] == [("answer", "lower")]


def test_what_is_sent_is_scrubbed(tmp_path: Path) -> None:
    with serve(recognise) as server:
        attacked(tmp_path, config(server), scrub=lambda text: text.replace("Oferta", "[tirado]"))

    assert server.texts
    assert all("[tirado]" in text and "Oferta" not in text for text in server.texts)


def test_a_key_that_is_not_there_is_said_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    settings = AuditJudgeConfig(url="http://127.0.0.1:9/v1", model="m", key_variable="JUDGE_KEY")

    with pytest.raises(InputError, match=r"JUDGE_KEY, which audit\.judge\.key_variable names, is not set"):
        check_judge(settings)


def test_replies_that_cannot_be_kept_are_one_sentence(tmp_path: Path) -> None:
    replies_file(tmp_path, "push").write_text("no database " * 100)

    with serve(recognise) as server, pytest.raises(InputError, match=r"judge-push\.sqlite3 is damaged"):
        attacked(tmp_path, config(server))
