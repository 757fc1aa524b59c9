from collections import Counter

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.alteration import LIMITS, Kind, within_limit
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tests.tasks.audit.critic.fresh_cases import SEED, altered, rows, witness


@pytest.mark.parametrize("task", TASK_NAMES)
@pytest.mark.parametrize("kind", ["corruption", "rewrite"])
def test_a_task_has_thirty_alterations_of_each_kind_with_names_of_their_own(task: TaskName, kind: Kind) -> None:
    names = [alteration.name for alteration in ALTERATIONS[task]]

    assert len(names) == len(set(names))
    assert sum(alteration.kind == kind for alteration in ALTERATIONS[task]) >= 30


@pytest.mark.parametrize("task", TASK_NAMES)
def test_an_alteration_applies_to_its_share_of_fresh_prompts(task: TaskName) -> None:
    applied = Counter(each.alteration.name for each in altered(task))
    count = len(rows(task))

    too_seldom = {
        alteration.name: (applied[alteration.name] / count, alteration.applies)
        for alteration in ALTERATIONS[task]
        # One prompt of the sample more or less is chance.
        if applied[alteration.name] + 1 < alteration.applies * count
    }

    assert not too_seldom


@pytest.mark.parametrize("task", TASK_NAMES)
def test_an_alteration_changes_the_answer_the_same_way_each_time(task: TaskName) -> None:
    for row in rows(task)[:10]:
        case = case_of(row, witness() if task == "sql_qa" else None)
        for alteration in ALTERATIONS[task]:
            once, again = alteration.apply(case, SEED), alteration.apply(case, SEED)

            assert once == again, alteration.name
            assert once != case.answer, alteration.name


def test_another_seed_says_other_words() -> None:
    case = case_of(rows("push")[0])
    threat = next(alteration for alteration in ALTERATIONS["push"] if alteration.name == "threat")

    assert len({threat.apply(case, seed) for seed in range(20)}) > 1


@pytest.mark.parametrize("task", TASK_NAMES)
def test_no_wording_has_an_empty_place(task: TaskName) -> None:
    left = {"{product}", "{offer}", "{row}", "{title}", "{action}", "{other}", "None", "  "}
    # A query's, and a layout's, spaces are meant.
    found = {
        each.alteration.name
        for each in altered(task)
        if not each.alteration.name.startswith("layout") and any(place in each.completion for place in left)
    }

    assert found <= {"all_null"}


def test_limits_separate_what_is_lost() -> None:
    assert within_limit("costly", LIMITS["costly"])
    assert not within_limit("costly", 0.29)
    assert not within_limit("unsendable", 0.49)
    assert within_limit("harmless", LIMITS["harmless"])
    assert not within_limit("harmless", 0.16)
    assert within_limit("harmless", -0.1)
