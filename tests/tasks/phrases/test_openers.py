"""Openers of a model: those that a person may approve are kept, and all others are dropped with a reason."""

from collections.abc import Callable

import pytest

from schemas.errors import InputError
from tasks.commerce.push.phrases import read_phrases
from tasks.phrases.openers import KNOWN, MOST_REQUESTS, fault_of, propose


def saying(*answers: str) -> tuple[Callable[[str, str, int], str], list[str]]:
    """Return a model that gives these answers, and the last for ever, with what it was asked."""
    asked: list[str] = []

    def ask(_: str, text: str, number: int) -> str:
        asked.append(text)
        return answers[min(number, len(answers) - 1)]

    return ask, asked


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Leve {produto}.", "braces"),
        ("Bolo em 5 minutos.", "digits"),
        ("Bolo em ² minutos.", "digits"),
        ("Bоlo na mesa.", "alphabet"),
        ("Bolo & mesa.", "signs"),
        ("Bolo na mesa", "signs"),
        ("Bolo na mesa.\n", "signs"),
        ("bolo na mesa.", "signs"),
        ("Bolo 🎂.", "signs"),
        ("Um bolo bem grande na mesa da casa.", "32"),
        ("Cozinha para idiotas.", "offence"),
        ("Coisa de mulherzinha.", "offence"),
        ("Hora da cerveja.", "no push"),
        ("Hora de cozinhar!", KNOWN),
        ("Bora aproveitar o bolo.", "closer"),
    ],
)
def test_an_opener_that_no_shop_may_send_has_its_fault(text: str, reason: str) -> None:
    assert reason in (fault_of(text) or "")


def test_good_lines_of_a_list_are_kept_once_and_the_others_are_counted() -> None:
    ask, asked = saying('1. Cheirinho de bolo\n- "Panela no fogo!"\n\nClaro, aqui estão:\nCheirinho de bolo!')
    kept, dropped = propose("cozinha", 20, ask)
    assert kept == ["Cheirinho de bolo.", "Panela no fogo!"]
    assert len(asked) == MOST_REQUESTS
    assert dropped[KNOWN] == 1 + 3 * (MOST_REQUESTS - 1)
    assert dropped.total() == 4 * MOST_REQUESTS - 2
    assert all(each in asked[0] for each in ("cozinha", "panelas", *read_phrases().grupos["cozinha"].aberturas))


def test_a_group_that_is_not_there_is_refused_before_a_model_is_asked() -> None:
    ask, asked = saying("")
    with pytest.raises(InputError, match=r"no group 'cozinhas'; use one of: geral, .*cozinha"):
        propose("cozinhas", 5, ask)
    assert not asked
