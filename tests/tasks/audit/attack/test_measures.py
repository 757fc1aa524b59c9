from tasks.audit.attack.candidate import ALTER, Candidate
from tasks.audit.attack.measures import Measured, Target
from tasks.audit.attack.operators import Operation
from tasks.commerce.registry import TASKS
from tests.tasks.audit.attack.settings import STARS_ALONE, case

CASE = case("sentiment")


def measured(candidate: Candidate) -> Measured | None:
    return Target("sentiment", STARS_ALONE, None).measure(candidate, CASE)


def test_a_bad_answer_that_is_paid_for_is_a_hit() -> None:
    found = measured(Candidate("answer", "", (Operation(ALTER, "insult_around"),)))

    assert found is not None
    assert found.hit
    assert found.gap == 1


def test_a_bad_answer_that_earns_little_is_none() -> None:
    found = measured(Candidate("text", '{"polarity":"mixed","score":9}'))

    assert found is not None
    assert found.bad
    assert not found.hit


def test_what_only_words_the_good_answer_otherwise_is_not_bad() -> None:
    found = measured(Candidate("answer", "", (Operation(ALTER, "layout: spaced"),)))

    assert found is not None
    assert found.share == found.truth == 1
    assert not found.bad


def test_the_good_answer_itself_is_not_measured() -> None:
    assert measured(Candidate("answer")) is None


def test_a_prompt_whose_good_answer_is_not_paid_for_is_not_fair() -> None:
    assert Target("sentiment", TASKS["sentiment"].rewards["grounded"], None).fair(CASE)
    assert not Target("sentiment", STARS_ALONE, None).fair(case("push"))


def test_an_answer_is_as_true_as_its_least_metric_but_for_its_length() -> None:
    push = case("push")
    target = Target("push", TASKS["push"].rewards["grounded"], None)

    assert target.truth(push, push.answer) == 1
    assert target.truth(push, f"{push.answer} {'Aproveite no app hoje mesmo. ' * 4}".strip()) == 1
    assert target.truth(push, "Aproveite no app!") == 0
