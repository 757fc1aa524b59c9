from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import InputError, Interrupted
from tasks.audit.attack.attack import Budget, TaskAttack, attack_task, find_in, finds_file
from tasks.audit.attack.finds import read_finds
from tests.tasks.audit.attack.settings import STARS_ALONE, setting

BUDGET = Budget(None, 3_000)


def attacked(folder: Path, stop: Callable[[], bool] = lambda: False, seed: int = 0) -> TaskAttack:
    return attack_task(setting("sentiment", STARS_ALONE, seed), BUDGET, folder, stop)


def after(steps: int) -> Callable[[], bool]:
    left = iter(range(steps))
    return lambda: next(left, None) is None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TaskAttack:
    return attacked(tmp_path_factory.mktemp("attack"))


def test_an_attack_that_is_interrupted_keeps_its_finds_and_ends_as_an_uninterrupted_one(
    whole: TaskAttack, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        attacked(tmp_path, after(200))
    kept = read_finds(finds_file(tmp_path, "sentiment"))
    resumed = attacked(tmp_path)

    assert kept
    assert {find.identity for find in kept} <= {find.identity for find in resumed.finds}
    assert resumed.finds == whole.finds
    assert resumed.evaluations == whole.evaluations
    assert resumed.baselines == whole.baselines


def test_an_attack_that_was_killed_between_two_saves_finds_what_it_had_found_again(
    whole: TaskAttack, tmp_path: Path
) -> None:
    class Killed(BaseException):
        """The end of a process, which saves nothing."""

    def killed() -> bool:
        if stop():
            raise Killed
        return False

    stop = after(300)
    with pytest.raises(Killed):
        attacked(tmp_path, killed)
    kept = read_finds(finds_file(tmp_path, "sentiment"))

    assert kept
    assert attacked(tmp_path).finds == whole.finds


def test_an_attack_that_has_ended_is_not_made_again(tmp_path: Path) -> None:
    first = attacked(tmp_path)

    def stop() -> bool:
        raise AssertionError("searched again")

    assert attacked(tmp_path, stop) == first


def test_an_attack_with_another_seed_does_not_take_up_the_state(tmp_path: Path) -> None:
    attacked(tmp_path)

    with pytest.raises(InputError, match="another reward, store, seed or rollouts; give another --out, or --fresh"):
        attacked(tmp_path, seed=1)


def test_a_state_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state-sentiment.json").write_text("[]")

    with pytest.raises(InputError, match="no state of an attack"):
        attacked(tmp_path)


def test_a_find_is_named_by_its_beginning(tmp_path: Path) -> None:
    found = attacked(tmp_path).finds[0]

    assert find_in(tmp_path, found.identity[:8]) == found
    with pytest.raises(InputError, match=r"no find of .* is named 'xyz'"):
        find_in(tmp_path, "xyz")
    with pytest.raises(InputError, match=r"finds of .* begin with ''"):
        find_in(tmp_path, "")


def test_baselines_say_what_a_reward_pays_without_the_work(whole: TaskAttack) -> None:
    constant = next(baseline for baseline in whole.baselines if baseline.kind == "constant")

    # Five stars are the usual score, which this reward asks for alone.
    assert '"score":5' in constant.says
    assert 0.4 < constant.reward < 0.9
    assert whole.forecast is not None
    assert whole.forecast_from == "seeds"
    assert whole.forecast.points[-1].reward > whole.forecast.points[0].reward
