import pytest

from tasks.commerce.push import TASK, graphemes
from tests.tasks.commerce.scoring import score

PROMPT = "Crie a notificação.\nProduto: brinquedos\nOferta: 20% de desconto\nPúblico: clientes sem compra há 90 dias"
REFERENCE = {"product": "brinquedos", "offer": "20% de desconto"}
GOOD = "Brinquedos com 20% de desconto para a criançada! Aproveite hoje no app."


def reward(completion: str) -> float:
    return score("push", completion, REFERENCE, PROMPT).reward


def component(name: str, completion: str) -> float:
    return score("push", completion, REFERENCE, PROMPT).components[name]


def test_a_good_push_earns_all() -> None:
    assert reward(GOOD) == pytest.approx(1.0)


@pytest.mark.parametrize("flawed", [
    GOOD.replace("20%", "30%"),
    GOOD.replace("20% de desconto", "ofertas"),
    GOOD.replace("Brinquedos", "Livros"),
    GOOD.replace("Aproveite hoje", "Só"),
    GOOD + " São 50 lojas e 300 marcas.",
    f"Push: {GOOD}",
    f"**{GOOD}**",
    f"{GOOD}\n{GOOD}",
    f"Claro! Aqui está: {GOOD}",
])  # fmt: skip
def test_each_flaw_costs(flawed: str) -> None:
    assert reward(flawed) < reward(GOOD) - 0.02


def test_e_mail_greeting_in_a_push() -> None:
    formal = f"Prezado cliente, {GOOD}"
    assert component("style", formal) == 0.0
    assert reward(formal) <= reward(GOOD) - 0.2


def test_length_falls_steeply_from_120_to_200() -> None:
    padded = [f"{GOOD} {'a' * extra}" for extra in (0, 48, 60, 80, 110, 140)]
    lengths = [component("length", text) for text in padded]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[:2] == [1.0, 1.0]
    assert 0 < lengths[3] < 0.5
    assert lengths[-1] == 0.0


def test_the_wrong_unit_of_an_offer_costs() -> None:
    assert component("offer", "Brinquedos com R$ 20 de desconto hoje!") < 1.0
    assert component("offer", "Brinquedos com 20,0% de desconto hoje!") == 1.0


@pytest.mark.parametrize(("text", "shown"), [
    ("Olá", 3), ("Ola\u0301", 3), ("\U0001f44d\U0001f3fd", 1), ("\U0001f468\u200d\U0001f469\u200d\U0001f467", 1),
    ("\U0001f1e7\U0001f1f7", 1), ("oi \U0001f600!", 5), ("", 0),
])  # fmt: skip
def test_length_is_what_a_phone_shows(text: str, shown: int) -> None:
    assert graphemes(text) == shown


def test_the_metric_is_the_rate_of_each_constraint() -> None:
    rollouts = [score("push", text, REFERENCE, PROMPT) for text in (GOOD, f"Prezada cliente, {GOOD}", "Oi", "a" * 130)]
    assert TASK.metric(rollouts, None) == {
        "within_length": 0.75,
        "names_product": 0.5,
        "names_offer": 0.5,
        "informal": 0.75,
        "all_kept": 0.25,
    }


def test_what_is_not_known_is_not_scored() -> None:
    assert score("push", GOOD, {"product": None, "offer": None}, PROMPT).reward == pytest.approx(1.0)
    assert score("push", GOOD, None, PROMPT).reward == pytest.approx(1.0)
