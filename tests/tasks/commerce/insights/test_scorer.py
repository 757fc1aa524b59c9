import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout, ScoredRollout
from schemas.store.store import Store
from schemas.tasks import SPEC_NAMES, SpecName
from tasks.commerce.insights import prompts as insights_prompts
from tasks.commerce.insights.scorer import WORDING
from tasks.commerce.insights.task import TASK
from tasks.commerce.registry import score_rollout

PROMPT = (
    "Analise a tabela e recomende ações.\nPeríodo: jan/2018 a mar/2018\nEstado | Receita | Atrasos | Nota média\n"
    "SP | R$ 57.053 | 3,5% | 4,1\nBA | R$ 18.005 | 19,3% | 3,0"
)
FACTS = ["SP: receita de R$ 57.053", "BA: 19,3% de atrasos", "BA: nota média 3,0", "SP: 3,5% de atrasos"]
REFERENCE = {"facts": [*FACTS, "SP: nota média 4,1", "BA: receita de R$ 18.005"]}
GOOD = (
    "## Destaques\n"
    "- SP: receita de R$ 57.053. Vale manter o estoque e priorizar as campanhas.\n"
    "- BA: 19,3% de atrasos. Recomendo renegociar o prazo com a transportadora.\n"
    "- BA: nota média 3,0. É preciso melhorar a experiência dos clientes."
)
SWAPPED = GOOD.replace("SP:", "MG:").replace("BA:", "SP:").replace("MG:", "BA:")
BARE = "\n".join(f"- {fact}" for fact in FACTS)
ENGLISH = (
    "## Highlights\n- SP: revenue of R$ 57.053. I recommend to keep the stock and the campaigns.\n"
    "- BA: 19,3% of orders were late. We should improve the delivery with the carrier.\n- BA: average rating 3,0."
)
NEXT_TO_NOTHING = 0.15


def scored(completion: str, spec: SpecName = "grounded", facts: list[str | float] | None = None) -> ScoredRollout:
    reference = REFERENCE if facts is None else {"facts": facts}
    rollout = Rollout(prompt_id="p", task="insights", prompt=PROMPT, completion=completion, reference=dict(reference))
    return score_rollout(rollout, None, spec)


def reward(completion: str, spec: SpecName = "grounded") -> float:
    return scored(completion, spec).reward


def facts(completion: str) -> float:
    return scored(completion).components["facts"]


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
    result = scored(text)
    assert set(result.components) == {"facts", "structure", "actions", "length"}
    assert result.reward == pytest.approx(1.0)


def test_numbers_of_the_wrong_row_are_no_facts() -> None:
    assert facts(SWAPPED) == 0.0
    assert reward(SWAPPED) <= NEXT_TO_NOTHING
    assert facts(GOOD.replace("SP: receita de R$ 57.053", "SP: receita de R$ 18.005")) < 0.5


@pytest.mark.parametrize("flowing", [
    "A receita de R$ 57.053 em SP é a maior, e BA tem 19,3% de atrasos e nota média 3,0.",
    "BA preocupa, com 19,3% de atrasos e nota média 3,0, enquanto SP tem receita de R$ 57.053.",
    "Com 19,3% de atrasos e nota média 3,0, BA preocupa. Já a receita de R$ 57.053 de SP anima.",
    "## SP\nReceita alta, de R$ 57.053.\n## BA\nPreocupam 19,3% de atrasos. Também tem nota média 3,0.",
])  # fmt: skip
def test_facts_count_in_any_order_of_words(flowing: str) -> None:
    assert facts(flowing) > 0.6


def test_a_bare_list_of_facts_earns_some_of_the_facts_and_little_else() -> None:
    result = scored(BARE)
    assert 0.2 <= result.components["facts"] <= 0.5
    assert 0.1 <= result.reward <= 0.45
    assert reward(GOOD) > result.reward + 0.5


@pytest.mark.parametrize("worthless", [
    "", "Desculpe, não posso analisar estes dados.", "I cannot analyse this table.", PROMPT, WORDING.system,
    PROMPT.partition("\n")[2], "## Análise\n- Ponto 1: [dado]\n- Ponto 2: [dado]\n**Recomendação:** [ação]",
    '{"facts": null}', "recomendar melhorar priorizar investir aumentar reduzir cliente vendas receita entrega análise",
    f"{' '.join(FACTS)} cliente produto vendas recomendar melhorar priorizar investir campanha crescimento reduzir",
    ENGLISH,
    ("## Visão geral\n- As vendas foram boas no período. Recomendo manter as campanhas.\n"
    "- A entrega precisa de atenção. Vale priorizar os prazos.\n- É preciso melhorar a experiência dos clientes."),
    "A análise dos resultados da loja é muito importante para o time. " * 60,
])  # fmt: skip
def test_what_is_no_analysis_of_this_table_earns_next_to_nothing(worthless: str) -> None:
    assert reward(worthless) <= NEXT_TO_NOTHING


def test_each_invented_number_costs() -> None:
    texts = [GOOD + tail for tail in ("", " Faltam 77 dias.", " Faltam 77 dias e 812 pedidos.")]
    rewards = [reward(text) for text in texts]
    assert rewards == sorted(set(rewards), reverse=True)
    assert reward(GOOD + " O período vai até março de 2018.") == pytest.approx(1.0)


@pytest.mark.parametrize("remark", [
    "SP está em 1º lugar.", "A receita de SP passa de R$ 57 mil.", "São R$ 57,1 mil em SP.",
    "BA está 15,8 pontos percentuais acima de SP.", "A meta: 10% em 30 dias.", "Convém reduzir os atrasos para 10%.",
])  # fmt: skip
def test_what_follows_from_the_table_or_is_a_goal_is_not_invented(remark: str) -> None:
    assert reward(f"{GOOD} {remark}") == pytest.approx(1.0)
    assert TASK.metric([scored(f"{GOOD} {remark}")], None)["no_false_number"] == 1.0


def test_what_does_not_follow_from_the_table_is_invented() -> None:
    for remark in ("São R$ 58 mil em SP.", "BA está 14,8 pontos percentuais acima de SP.", "Há 10% de devoluções."):
        assert reward(f"{GOOD} {remark}") < 0.9


def test_a_cut_analysis_earns_less_the_more_is_cut() -> None:
    rewards = [reward(GOOD[: round(share * len(GOOD))]) for share in (0.25, 0.5, 0.75, 1.0)]
    assert rewards == sorted(rewards)
    assert rewards[0] <= 0.35
    assert rewards[1] <= 0.60
    assert rewards[2] <= 0.85


def test_notation_of_numbers_changes_nothing() -> None:
    assert reward(GOOD.replace("19,3", "19.3").replace("57.053", "57053").replace("3,0", "3")) == reward(GOOD)


@pytest.mark.parametrize("same", [
    f"\n {GOOD} \n\n", GOOD.replace("- ", "• "), GOOD.replace("\n- ", "\n  * "), GOOD.replace("SP:", "**SP**:"),
    GOOD.replace(": ", " – "), GOOD.replace("ê", "e\u0302"),
])  # fmt: skip
def test_the_look_of_an_analysis_changes_nothing(same: str) -> None:
    assert reward(same) == pytest.approx(reward(GOOD))


def test_a_pasted_table_quotes_nothing() -> None:
    table = PROMPT.partition("\n")[2]
    advice = "- Vale manter o estoque.\n- Recomendo renegociar os prazos.\n- É preciso melhorar a experiência."
    assert reward(f"## Destaques\n{table}\n{advice}") <= NEXT_TO_NOTHING
    assert TASK.metric([scored(f"{table}\n{advice}")], None)["quotes_facts"] == 0.0


def test_half_quotations_do_not_add_up() -> None:
    halves = "- SP tem 57.053, 3,5 e 4,1. Vale manter o que está bem.\n- BA tem 18.005, 19,3 e 3,0 a rever."
    assert facts(f"## Destaques\n{halves}") <= 0.6


def test_states_may_be_named_in_full() -> None:
    assert reward(GOOD.replace("SP", "São Paulo").replace("BA", "Bahia")) == pytest.approx(1.0)
    wrong = SWAPPED.replace("SP", "São Paulo").replace("BA", "Bahia")
    assert reward(wrong) <= NEXT_TO_NOTHING


@pytest.mark.parametrize("opening", [
    "Infelizmente, não há boas notícias na BA.", "Não vou propor cortes: vale manter o estoque.",
])  # fmt: skip
def test_bad_news_are_no_refusal(opening: str) -> None:
    assert reward(f"{opening}\n{GOOD}") > 0.9


def test_dashes_mark_a_list_too() -> None:
    for dash in "–—":
        assert reward(GOOD.replace("\n- ", f"\n{dash} ")) == pytest.approx(1.0)


def test_v4_2_takes_melhor_for_an_action_word() -> None:
    assert scored("A melhor", "v4.2").components["actions"] == 0.25


def test_ordinals_of_a_list_are_no_invented_numbers() -> None:
    for mark in (".", ")"):
        numbered = GOOD
        for number in (7, 8, 9):
            numbered = numbered.replace("\n- ", f"\n{number}{mark} ", 1)
        assert reward(numbered) == pytest.approx(reward(GOOD))


def test_facts_may_be_bare_numbers() -> None:
    assert scored(GOOD, facts=[57_053, 19.3, "3,0"]).components["facts"] == 1.0
    assert scored(GOOD, facts=[1, 2, 8]).components["facts"] == 0.0


def test_more_facts_earn_more() -> None:
    lines = GOOD.splitlines()
    grades = [facts("\n".join(lines[:count])) for count in (1, 2, 3, 4)]
    assert grades == sorted(set(grades))


def test_v4_2_knows_no_reference_and_pays_its_four_parts() -> None:
    assert reward(GOOD, "v4.2") == pytest.approx(1.0)
    assert reward(SWAPPED, "v4.2") == pytest.approx(1.0)
    assert reward("", "v4.2") == 0.0
    for name, texts in {
        "actions": ("Nada a fazer.", "Recomendo algo.", "Recomendo priorizar.", "Recomendo priorizar e investir."),
        "length": ("a", "a" * 50, "a" * 99, "a" * 100),
        "structure": ("a", "- a", "- a\n- b", "# a\n- b\n- c"),
        "domain": ("Nada.", "O cliente.", "O cliente pede o produto."),
    }.items():
        values = [scored(text, "v4.2").components[name] for text in texts]
        assert values == sorted(set(values)), name
    assert scored("a" * 1_200, "v4.2").components["length"] == pytest.approx(0.5)
    assert scored("a" * 9_999, "v4.2").components["length"] == 0.0


def test_the_metric_is_the_rate_of_each_constraint_under_either_spec() -> None:
    texts = (GOOD, GOOD.replace("57.053", "75.053"), "Nada a dizer.", GOOD + " Faltam 77 dias.", SWAPPED)
    for spec in SPEC_NAMES:
        assert TASK.metric([scored(text, spec) for text in texts], None) == {
            "quotes_facts": 0.4,
            "no_false_number": 0.4,
            "no_false_claim": 1.0,
            "within_length": 0.8,
            "recommends": 0.8,
            "in_portuguese": 1.0,
            "all_kept": 0.2,
        }
    assert TASK.metric([], None) == {}


def test_what_is_not_known_is_not_scored() -> None:
    bare = Rollout(prompt_id="p", task="insights", prompt=PROMPT, completion=GOOD, reference={"facts": None})
    assert score_rollout(bare, None).reward == pytest.approx(1.0)


def test_prompts_are_all_different_and_their_answers_full(store: Store) -> None:
    made = list(insights_prompts.examples(store, random.Random(4), 2_000))
    assert len({example.prompt for example in made}) == 2_000
    for example in made[:300]:
        rollout = Rollout(
            prompt_id="p",
            task="insights",
            prompt=example.prompt,
            completion=TASK.answer(example.reference),
            reference=dict(example.reference),
        )
        assert score_rollout(rollout, None).reward > 0.95


@pytest.mark.parametrize("spec", SPEC_NAMES)
@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=400), st.lists(st.sampled_from([GOOD, "SP", " 19,3 ", "\n", "1. ", "\u0301"])).map("".join)
    )
)
def test_no_string_raises(spec: SpecName, text: str) -> None:
    result = scored(text, spec)
    assert 0 <= result.reward <= 1
    assert all(0 <= value <= 1 for value in result.components.values())
