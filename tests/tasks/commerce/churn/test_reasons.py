import json
import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.commerce.churn.reasons import grade_reason
from tests.tasks.commerce.churn.profiles import Case, cases, prompt_of
from tests.tasks.commerce.scoring import score

# One shopper who left, and one who stays.
GONE = prompt_of("SP", 1, "pet shop", "R$ 409", 3, 356, "2", "2,0", 1, 0)
LOYAL = prompt_of("BA", 5, "brinquedos", "R$ 1.210", 4, 19, "5", "4,6", 0, 0)
GENERIC = {
    True: "O histórico do cliente indica que ele não deve voltar.",
    False: "O histórico do cliente indica que ele deve voltar.",
}


def reward(case: Case) -> float:
    answer = {"risk_score": 0.9 if case.leaves else 0.1, "churn": case.leaves, "reasoning": case.reason}
    return score("churn", json.dumps(answer), {"churn": case.leaves}, case.prompt).reward


def use(prompt: str, leaves: bool, reason: str) -> float:
    return grade_reason(reason, prompt, leaves).use


def test_there_are_thirty_reasons_of_each_kind() -> None:
    assert len(list(cases("good"))) >= 30
    assert len(list(cases("bad"))) >= 29


@pytest.mark.parametrize("case", cases("good"), ids=lambda case: case.reason)
def test_a_good_reason_earns_almost_everything(case: Case) -> None:
    assert reward(case) >= 0.85


@pytest.mark.parametrize("case", cases("bad"), ids=lambda case: case.reason)
def test_a_bad_reason_costs_a_third_of_the_generic_one_at_least(case: Case) -> None:
    assert reward(case) <= 0.7 * reward(case._replace(reason=GENERIC[case.leaves]))


@pytest.mark.parametrize(
    ("prompt", "leaves", "specific"),
    [
        (GONE, True, "Comprou uma vez só e sumiu há um ano."),
        (LOYAL, False, "Cinco pedidos, o último há 19 dias, e boas notas."),
    ],
)
def test_a_generic_reason_earns_less_than_a_specific_one_and_more_than_none(
    prompt: str, leaves: bool, specific: str
) -> None:
    best, generic, empty, none = (
        reward(Case(prompt, leaves, reason))
        for reason in (specific, GENERIC[leaves], "Os dados do perfil mostram isso.", "")
    )
    assert best > 0.99
    assert 0.9 <= generic < best - 0.05
    assert max(empty, none) < 0.6 * generic


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("Está há 356 dias sem comprar.", True),
        ("Está há 355 dias sem comprar.", False),
        ("Está há trezentos e cinquenta e seis dias sem comprar.", True),
        ("Está há 360 dias sem comprar.", True),
        ("Está há quase um ano sem comprar.", True),
        ("Está há 12 meses sem comprar.", True),
        ("Está há 9 meses sem comprar.", False),
        ("Está há mais de um ano sem comprar.", False),
        ("Está há mais de onze meses sem comprar.", True),
        ("Está há mais de seis meses sem comprar.", False),
        ("Nenhuma compra nos últimos seis meses.", True),
        ("Nenhuma compra nos últimos dois anos.", False),
        ("Gastou R$ 409 e não voltou.", True),
        ("Gastou cerca de 400 reais e não voltou.", True),
        ("Gastou R$ 490 e não voltou.", False),
        ("Pagou em 3 parcelas e não voltou.", True),
        ("Pagou em 4 parcelas e não voltou.", False),
        ("Deu nota 2 e não voltou.", True),
        ("Deu nota 3 e não voltou.", False),
        ("Fez um único pedido e não voltou.", True),
        ("Fez 2 pedidos e não voltou.", False),
        ("Teve uma entrega atrasada e não voltou.", True),
        ("Teve 2 entregas atrasadas e não voltou.", False),
        ("Teve um pedido não entregue e não voltou.", False),
        ("Nunca teve atraso e não voltou.", False),
        ("Ficou insatisfeito e não voltou.", True),
        ("Ficou satisfeito, mas não voltou.", False),
        ("Não ficou satisfeito e não voltou.", True),
        ("Comprou pela primeira vez e não voltou.", True),
    ],
)
def test_numbers_and_words_are_checked_against_the_profile(said: str, holds: bool) -> None:
    assert (use(GONE, True, said) > 0.9) is holds


@pytest.mark.parametrize(
    ("said", "leaves", "kept"),
    [
        ("É cliente fiel e satisfeito.", False, True),
        ("É cliente fiel e satisfeito.", True, False),
        ("É cliente fiel e satisfeito, então vai deixar de comprar.", True, False),
        ("Apesar de ser cliente fiel, não deve voltar.", True, True),
        ("É cliente fiel, mas não deve voltar.", True, True),
        ("Cinco pedidos e boas notas: o risco é alto.", False, False),
        ("Não há sinais de que vá embora, pois tem cinco pedidos.", False, True),
        ("Deve voltar, pois tem cinco pedidos. Não deve voltar.", False, False),
    ],
)
def test_a_reason_speaks_for_the_answer_beside_it(said: str, leaves: bool, kept: bool) -> None:
    assert (use(LOYAL, leaves, said) > 0.75) is kept


@pytest.mark.parametrize("prompt", [GONE, LOYAL])
def test_a_line_that_is_missing_bears_out_nothing(prompt: str) -> None:
    without = re.sub(r"\nPedidos: \d", "", prompt)
    said = "Fez 1 pedido e não voltou." if prompt == GONE else "Fez 5 pedidos e não voltou."
    assert use(prompt, True, said) > use(without, True, said)


def test_a_state_is_no_reason() -> None:
    assert use(LOYAL, False, "Cliente da Bahia com cinco pedidos.") > 0.9
    assert use(LOYAL, False, "Deve voltar por ser cliente da Bahia.") < 0.5
    assert use(LOYAL, False, "Quem é da Bahia deve voltar.") < 0.5
    assert use(LOYAL, False, "Cliente de Santa Catarina com cinco pedidos.") < 0.5


def test_shuffled_words_are_no_reason() -> None:
    generator = random.Random(5)
    losses = []
    for case in cases("good"):
        words = case.reason.split()
        generator.shuffle(words)
        losses.append(1 - reward(case._replace(reason=" ".join(words))) / reward(case))
    assert sorted(losses)[len(losses) // 2] > 0.3


PIECES = (
    "não nunca sem mas apesar de muito bem comprou há mais de quase um dois mil e 3 9,9 r$ % dias meses nota média",
    "pedido pedidos não entregues atraso deve voltar vai deixar de comprar risco alto . , ( - SP pet shop \x00 é 😀",
)
WORDS = st.lists(st.sampled_from(" ".join(PIECES).split()), max_size=120)


@settings(deadline=None, max_examples=150)
@given(
    WORDS | st.text(max_size=500),
    st.sampled_from([True, False, None]),
    st.sampled_from([GONE, LOYAL, "", "Pedidos: x"]),
)
def test_nothing_raises_and_grades_are_shares(reason: str | list[str], leaves: bool | None, prompt: str) -> None:
    grade = grade_reason(reason if isinstance(reason, str) else " ".join(reason), prompt, leaves)
    assert 0 <= grade.use <= 1
    assert 0 <= grade.support <= 1


@pytest.mark.parametrize("number", ["1.234.56.89", "9.9.9", "1,2,3", "٣", "² e dois", "9" * 30, "0,0,", "1e9", "0"])
def test_an_odd_number_is_a_false_one(number: str) -> None:
    for said in (
        "Fez {} pedidos.",
        "Gastou R$ {} e não voltou.",
        "Está há {} dias sem comprar.",
        "Deu nota {} e sumiu.",
    ):
        assert use(GONE, True, said.format(number)) < 0.5


@pytest.mark.parametrize(
    "piece",
    [
        "muito ",
        "sem ",
        "nota ",
        "mais de ",
        "mais de 1 ",
        "não ",
        "1 e ",
        "mil e ",
        "entregas ",
        "a",
        "1",
        "de um ",
        "que ",
    ],
)
def test_a_hostile_reason_takes_no_longer_than_others(piece: str) -> None:
    text = (piece * 440)[:430]
    begun = time.process_time()
    grade_reason(text, GONE, leaves=True)
    assert time.process_time() - begun < 0.05
