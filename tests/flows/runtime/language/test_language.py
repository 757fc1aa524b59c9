"""Lines of the terminal are said in the language of the run, and what is no sentence of ours stays as it is."""

import re
import tomllib

import pytest

from flows.runtime.language import TEXTS, in_language

SENTENCES = tomllib.loads(TEXTS.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def portuguese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.runtime.language._spoken", "pt")


def test_a_sentence_is_said_with_its_values_and_the_sentence_in_it_too() -> None:
    english = "tucano: there is no profile 'l5'; use one of: l4, local, or a path to a .toml file"
    assert in_language(f"  {english}\nOutra linha") == (
        "  tucano: não há o perfil 'l5'; use um destes: l4, local, ou o caminho de um arquivo .toml\nOutra linha"
    )
    assert (
        in_language("ask: 1/2 loading the model, about 3 s to go")
        == "ask: 1/2 carregando o modelo, faltam cerca de 3 s"
    )


@pytest.mark.parametrize("text", ["a policy of 32 prompts", "", "Disse: answers?", "a: " + "b in " * 5_000 + "s"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert in_language(text) == text


@pytest.mark.parametrize("english", SENTENCES)
def test_every_sentence_in_portuguese_has_the_places_of_the_english_one_and_is_found(english: str) -> None:
    places = dict.fromkeys(re.findall(r"\{(\w+)\}", english), "7")
    assert places.keys() == {*re.findall(r"\{(\w+)\}", SENTENCES[english])} | places.keys() & {"place", "other"}
    said = english.format(**places)
    assert in_language(said) == SENTENCES[english].format(**places)
