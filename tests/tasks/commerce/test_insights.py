import pytest

from tasks.commerce.insights import TASK
from tests.tasks.commerce.scoring import score

PROMPT = (
    "Analise a tabela e recomende ações.\nPeríodo: jan/2018 a mar/2018\nEstado | Receita | Atrasos | Nota média\n"
    "SP | R$ 57.053 | 3,5% | 4,1\nBA | R$ 18.005 | 19,3% | 3,0"
)
FACTS = ["SP: receita de R$ 57.053", "BA: 19,3% de atrasos", "BA: nota média 3,0", "SP: 3,5% de atrasos"]
REFERENCE = {"facts": FACTS}
GOOD = (
    "## Destaques\n"
    "- SP: receita de R$ 57.053. Vale manter o estoque e priorizar as campanhas.\n"
    "- BA: 19,3% de atrasos. Recomendo renegociar o prazo com a transportadora.\n"
    "- BA: nota média 3,0. É preciso melhorar a experiência dos clientes."
)


def reward(completion: str) -> float:
    return score("insights", completion, REFERENCE, PROMPT).reward


def facts(completion: str) -> float:
    return score("insights", completion, REFERENCE, PROMPT).components["facts"]


def test_a_good_analysis_earns_all() -> None:
    assert reward(GOOD) == pytest.approx(1.0)


@pytest.mark.parametrize("flawed", [
    GOOD.replace("57.053", "75.053"),
    GOOD.replace("57.053", "57.053 (alta de 12%)"),
    GOOD.replace("BA: 19,3%", "SP: 19,3%"),
    GOOD.replace("## Destaques\n", ""),
    GOOD.replace("\n- ", " "),
    GOOD.replace("Vale manter o estoque e priorizar as campanhas.", "").replace("Recomendo renegociar", "Há"),
    "\n".join(GOOD.splitlines()[:2]),
    f"Com certeza! {GOOD}\nEspero ter ajudado!",
    GOOD + " A equipe segue de olho nos resultados de cada um dos estados do país." * 20,
])  # fmt: skip
def test_each_flaw_costs(flawed: str) -> None:
    assert reward(flawed) < reward(GOOD) - 0.02


def test_insights_mentioning_reengajamento() -> None:
    text = GOOD.replace(
        "É preciso melhorar a experiência dos clientes.", "Recomendo uma campanha de reengajamento por push."
    )
    scored = score("insights", text, REFERENCE, PROMPT)
    assert set(scored.components) == {"facts", "structure", "actions", "length"}
    assert scored.reward == pytest.approx(1.0)


def test_notation_of_numbers_changes_nothing() -> None:
    assert reward(GOOD.replace("19,3", "19.3").replace("57.053", "57053").replace("3,0", "3")) == reward(GOOD)


def test_ordinals_of_a_list_are_no_invented_numbers() -> None:
    numbered = GOOD
    for number in (7, 8, 9):
        numbered = numbered.replace("\n- ", f"\n{number}. ", 1)
    assert reward(numbered) == pytest.approx(reward(GOOD))


def test_facts_may_be_bare_numbers() -> None:
    assert score("insights", GOOD, {"facts": [57_053, 19.3, "3,0"]}, PROMPT).components["facts"] == 1.0
    assert score("insights", GOOD, {"facts": [1, 2, 8]}, "").components["facts"] == 0.0


def test_more_facts_earn_more() -> None:
    lines = GOOD.splitlines()
    grades = [facts("\n".join(lines[:count])) for count in (1, 2, 3, 4)]
    assert grades == sorted(grades)
    assert len(set(grades)) == 4


def test_the_metric_asks_for_facts_and_for_nothing_invented() -> None:
    texts = (GOOD, GOOD.replace("57.053", "75.053"), "Nada a dizer.", GOOD + " Faltam 77 dias.")
    rollouts = [score("insights", text, REFERENCE, PROMPT) for text in texts]
    assert TASK.metric(rollouts, None) == {"quotes_facts": 0.5, "no_invented_number": 0.5, "all_kept": 0.25}
