import pytest

from tests.tasks.commerce.insights.test_analyses import GOOD, reward
from tests.tasks.commerce.insights.test_reading import ENTREGAS, read

WHOLE = ["Recomendo revisar tudo e acompanhar cada ponto.", "Vale pensar em tudo com carinho."]
CLOSING = ["Vale acompanhar nas próximas semanas.", "Sugiro acompanhar de perto."]
USEFUL = ["Vale ouvir os clientes de novo.", "Recomendo renegociar a coleta.", "Acompanhar o prazo toda semana."]


def kept(addition: str) -> list[float]:
    return [reward(f"{good['text']}{addition}", good["table"]) / reward(good["text"], good["table"]) for good in GOOD]


@pytest.mark.parametrize("text", WHOLE)
def test_advice_on_everything_is_idle_wherever_it_stands(text: str) -> None:
    finding = "PE: 21,1% de atrasos. "
    assert read(text, ENTREGAS).idleness.idle == read(finding + text, ENTREGAS).idleness.idle == 1.0
    assert not read(finding + text, ENTREGAS).advice.verbs


@pytest.mark.parametrize("text", CLOSING)
def test_a_closing_word_costs_little_and_nothing_behind_its_finding(text: str) -> None:
    assert 0 < read(text, ENTREGAS).idleness.idle < 1
    assert not read(f"PE: 21,1% de atrasos. {text}", ENTREGAS).idleness.idle


@pytest.mark.parametrize("text", USEFUL)
def test_advice_with_an_object_is_not_idle(text: str) -> None:
    assert not read(text, ENTREGAS).idleness.idle


def test_idle_advice_costs_more_the_more_idle_it_is() -> None:
    closing, whole = kept("\nVale acompanhar nas próximas semanas."), kept(f"\n{WHOLE[0]}")
    doubled = kept(f"\n{WHOLE[0]}.")
    assert all(0.9 < each < 1.05 for each in closing)
    assert all(other <= each for each, other in zip(closing, whole, strict=True))
    assert max(whole) <= 0.9
    assert all(other < each for each, other in zip(whole, doubled, strict=True))


@pytest.mark.parametrize(
    "text", ["O que estes números mostram e o que fazer?", "Números exatos e uma ação recomendada."]
)
def test_the_instruction_repeated_costs(text: str) -> None:
    assert read(text.replace("?", "."), ENTREGAS).idleness.idle_strange == 1


def test_a_label_or_a_heading_is_not_idle() -> None:
    assert read("Próximos passos:", ENTREGAS).sound() == 1.0


def test_what_would_be_is_supposed_and_not_idle() -> None:
    assert not read("PE: 21,1% de atrasos. Uma pesquisa mostraria o motivo.", ENTREGAS).idleness.idle
