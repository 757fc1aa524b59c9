import pytest

from tasks.audit.attack.candidate import ALTER, Candidate, keeps
from tasks.audit.attack.operators import Operation
from tests.tasks.audit.attack.settings import case

GOOD = Candidate("answer")
PUSH, REVIEW = case("push"), case("sentiment")


def corrupted(candidate: Candidate, of: object = PUSH) -> bool:
    completed = candidate.complete(of)  # type: ignore[arg-type]  # a case
    assert completed is not None
    return completed.corrupted


def test_a_corruption_is_bad_and_stays_so_while_it_is_kept() -> None:
    insulted = GOOD.then(Operation(ALTER, "second_push"))

    assert corrupted(insulted)
    assert corrupted(insulted.then(Operation("append", "Aproveite!")))
    assert corrupted(insulted.then(Operation("upper")))
    assert not corrupted(insulted.then(Operation("first", "0.5")))


def test_nothing_is_known_by_descent_of_a_text_that_says_the_good_answer_as_well() -> None:
    assert not corrupted(GOOD.then(Operation(ALTER, "unread_product"), Operation("good_after")))


def test_what_a_corruption_left_out_may_be_supplied_by_what_knows_the_prompt_and_by_nothing_else() -> None:
    left_out = GOOD.then(Operation(ALTER, "unread_offer"))

    assert corrupted(left_out.then(Operation("append", "Aproveite!")))
    assert not corrupted(left_out.then(Operation("append", "{Oferta_inicial} em {Produto}!")))
    assert corrupted(GOOD.then(Operation(ALTER, "second_push"), Operation("append", "{Oferta_inicial}!")))
    halved = GOOD.then(Operation(ALTER, "half_of_the_fields"))
    review = case("extraction")
    assert corrupted(halved.then(Operation("set", '{"observacao":1}')), review)
    assert not corrupted(halved.then(Operation("set", '{"sentiment":"positive"}')), review)


def test_two_corruptions_may_undo_each_other_and_so_do_not_count() -> None:
    profile = case("churn")
    turned = GOOD.then(Operation(ALTER, "opposite"))

    assert corrupted(turned, profile)
    assert not corrupted(turned.then(Operation(ALTER, "other_answer"), Operation(ALTER, "other_risk")), profile)


def test_a_rewrite_is_not_bad_and_what_is_corrupted_after_it_is() -> None:
    laid_out = GOOD.then(Operation(ALTER, "layout: spaced"))

    assert not corrupted(laid_out, REVIEW)
    assert corrupted(laid_out.then(Operation(ALTER, "opposite")), REVIEW)


def test_an_alteration_of_what_is_no_answer_does_not_apply() -> None:
    assert Candidate("text", "bom", (Operation(ALTER, "opposite"),)).complete(REVIEW) is None
    assert GOOD.then(Operation(ALTER, "no such alteration")).complete(REVIEW) is None


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ('{"a":1}', '{"b":2, "a":1}', True),
        ('{"a":1}', '{"a":true}', False),
        ("Um dois.", "(UM  dois), três", True),
        ("Um dois", "um dois-três", True),
        ("um dois", "um doistrês", False),
        ("...", "... e", False),
    ],
)
def test_words_and_fields_are_kept_whatever_stands_round_them(before: str, after: str, kept: bool) -> None:
    assert keeps(before, after) is kept


def test_a_candidate_is_read_as_it_was_written() -> None:
    candidate = Candidate("text", "{Produto} já!", (Operation("append", "x"), Operation(ALTER, "shouting")))

    assert Candidate.read(candidate.document()) == candidate
    assert Candidate.read(candidate.document()).identity == candidate.identity


@pytest.mark.parametrize(
    "document",
    [{}, {"base": "other", "text": "", "operations": []}, {"base": "text", "text": "", "operations": [["fly", ""]]}],
)
def test_what_is_no_candidate_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no "):
        Candidate.read(document)


def test_a_candidate_contains_what_has_some_of_its_operations_in_their_order() -> None:
    first, second = Operation("upper"), Operation("lower")

    assert GOOD.then(first, second).contains(GOOD.then(second))
    assert not GOOD.then(first, second).contains(GOOD.then(second, first))
    assert not GOOD.then(first).contains(Candidate("text", "a", (first,)))


def test_a_constant_says_nothing_of_its_prompt() -> None:
    assert not Candidate("text", "Aproveite!").reads_the_prompt
    assert Candidate("text", "Aproveite!", (Operation("append", "{Oferta}"),)).reads_the_prompt
    assert Candidate("text", "Aproveite!", (Operation(ALTER, "unread_offer"),)).knows_the_answer
