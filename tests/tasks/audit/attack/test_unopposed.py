import json

from tasks.audit.attack.candidate import Candidate
from tasks.audit.attack.measures import Measured
from tasks.audit.attack.operators import Operation
from tasks.audit.attack.unopposed import FEW, Unopposed

GOOD = Candidate("answer")


def measured(share: float, truth: float = 1.0, corrupted: bool = False) -> Measured:
    return Measured("text", share, {}, share, truth, corrupted)


def appended(text: str) -> Candidate:
    return GOOD.then(Operation("append", text))


def test_only_what_is_paid_for_and_called_bad_nowhere_is_kept() -> None:
    kept = Unopposed()
    kept.note(appended("true"), [measured(0.8), measured(1.0), measured(0.1)])
    kept.note(appended("paid once"), [measured(0.8), measured(0.7)])
    kept.note(appended("untrue"), [measured(1.0), measured(1.0), measured(1.0, truth=0.5)])
    kept.note(appended("corrupted"), [measured(1.0), measured(1.0), measured(0.1, corrupted=True)])

    assert list(kept) == [appended("true")]


def test_the_best_few_of_a_mechanism_are_kept_and_of_equal_ones_the_first() -> None:
    kept = Unopposed()
    for number, share in enumerate([0.8, 0.9, 0.9, 0.9, 1.0]):
        kept.note(appended(str(number)), [measured(share)] * 2)

    assert list(kept) == list(map(appended, "412"))[:FEW]


def test_every_mechanism_comes_once_before_any_comes_again_and_short_chains_first() -> None:
    kept = Unopposed()
    for candidate in (
        appended("a").then(Operation("upper")),
        appended("a"),
        appended("b"),
        GOOD.then(Operation("upper")),
    ):
        kept.note(candidate, [measured(1.0)] * 2)

    assert [candidate.labels[1:] for candidate in kept][2:] == [("append", "upper"), ("append",)]
    assert {candidate.labels[1:] for candidate in list(kept)[:2]} == {("append",), ("upper",)}


def test_what_was_kept_is_restored() -> None:
    kept, other = Unopposed(), Unopposed()
    for number, share in enumerate([0.8, 0.9, 1.0, 0.8]):
        kept.note(appended(str(number)), [measured(share)] * 2)
    other.restore(json.loads(json.dumps(kept.state())))

    assert other.state() == kept.state()
    assert list(other) == list(kept)
