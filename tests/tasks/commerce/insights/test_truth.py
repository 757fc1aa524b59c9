"""Ground truth of insights, claim by claim."""

import time

import pytest

from tasks.commerce.insights.truth import claims_kept
from tasks.commerce.insights.truth_table import read_facts

STATES = (
    *("SP: receita de R$ 57.053", "SP: 3,5% de atrasos", "SP: nota média 4,1", "BA: receita de R$ 18.005"),
    *(
        "BA: 19,3% de atrasos",
        "BA: nota média 3,0",
        "MG: receita de R$ 21.400",
        "MG: 8,0% de atrasos",
        "MG: nota média 4,4",
    ),
)
MONTHS = tuple(
    f"{month}/2018: {fact}"
    for month, facts in {
        "janeiro": ("120 pedidos", "frete médio de R$ 19"),
        "fevereiro": ("150 pedidos", "frete médio de R$ 18"),
        "março": ("180 pedidos", "frete médio de R$ 22"),
    }.items()
    for fact in facts
)
GOOD = (
    "## Destaques\n- SP: receita de R$ 57.053. Vale manter o estoque.\n"
    "- BA: 19,3% de atrasos. Recomendo rever as rotas.\n"
    "- MG: nota média 4,4. Vale ouvir os clientes e repetir o que deu certo."
)


def broken(text: str, facts: tuple[str, ...] = STATES, prompt: str = "") -> set[str]:
    return {name for name, is_kept in claims_kept(text, read_facts(facts, prompt)).items() if not is_kept}


def test_the_facts_are_the_table() -> None:
    table = read_facts(STATES)
    assert (table.rows, len(table.columns), len(table.cells)) == (["sp", "ba", "mg"], 3, 9)
    assert table.cells["ba", "late"].value == 19.3
    assert read_facts(MONTHS).months() == ["janeiro/2018", "fevereiro/2018", "marco/2018"]


@pytest.mark.parametrize("remark", [
    "SP lidera em receita.", "BA tem a pior nota, 3,0.", "SP supera MG em receita.", "A Bahia atrasa mais: 19,3%.",
    "Em receita, SP vende quase R$ 57 mil.", "MG e BA somam R$ 39.405 de receita.", "SP tem 3,2 vezes a receita de BA.",
    "São 15,8 pontos percentuais entre os atrasos de BA e os de SP.", "A nota de MG (4,4) está acima da de BA (3,0).",
    "Os atrasos vão de 3,5% (SP) a 19,3% (BA).", "A meta é reduzir os atrasos de BA para 10% em 30 dias.",
    "SP responde por 59% da receita.", "MG fica em 2º lugar em receita.", "BA não lidera em receita.",
])  # fmt: skip
def test_what_follows_from_the_table_is_true(remark: str) -> None:
    assert broken(f"{GOOD}\n- {remark}") == set()


@pytest.mark.parametrize(("remark", "claim"), [
    ("BA: receita de R$ 57.053.", "no_false_number"), ("MG tem 19,3% de atrasos.", "no_false_number"),
    ("SP: nota média 19,3.", "no_false_number"), ("A receita de SP foi de R$ 61.000.", "no_false_number"),
    ("MG e BA somam R$ 99.405 de receita.", "no_false_number"), ("SP tem 9,2 vezes a receita de BA.",
    "no_false_number"),
    ("Há 77 devoluções.", "no_false_number"), ("BA não tem 19,3% de atrasos.", "no_false_number"),
    ("BA lidera em receita.", "no_false_claim"), ("SP tem a pior nota média.", "no_false_claim"),
    ("BA supera SP em receita.", "no_false_claim"), ("SP fica abaixo de BA em receita.", "no_false_claim"),
    ("SP e BA empatam em receita.", "no_false_claim"), ("A receita de SP cresceu.", "no_false_claim"),
    ("SP vai dobrar a receita.", "no_false_claim"), ("RJ lidera em receita.", "no_false_claim"),
    ("Pernambuco tem a maior receita.", "no_false_claim"), ("SP lidera em lucro.", "no_false_claim"),
    ("Nada do que está acima é verdade.", "no_false_claim"), ("A receita de SP caiu por causa da greve.",
    "no_false_claim"),
])  # fmt: skip
def test_a_false_number_and_a_false_claim_are_seen(remark: str, claim: str) -> None:
    assert broken(GOOD) == set()
    assert broken(f"{GOOD}\n- {remark}") == {claim}


@pytest.mark.parametrize(("remark", "claim"), [
    ("Os pedidos cresceram.", None), ("Os pedidos caíram.", "no_false_claim"),
    ("O frete médio subiu de R$ 18 em fevereiro para R$ 22 em março.", None),
    ("O frete médio foi de R$ 22 em fevereiro para R$ 18 em março.", "no_false_number"),
    ("Março teve mais pedidos.", None), ("Janeiro teve mais pedidos.", "no_false_claim"),
    ("De janeiro a março, os pedidos aumentaram.", None),
])  # fmt: skip
def test_only_a_table_of_months_has_trends(remark: str, claim: str | None) -> None:
    good = (
        "## Evolução\n- Janeiro: 120 pedidos. Vale revisar as campanhas do começo do ano.\n"
        "- Fevereiro: frete médio de R$ 18. Recomendo manter o contrato.\n"
        "- Março: 180 pedidos. Convém reforçar o estoque para o próximo período."
    )
    assert broken(good, MONTHS) == set()
    assert broken(f"{good}\n- {remark}", MONTHS) == ({claim} if claim else set())


def test_a_year_that_is_not_the_periods_is_false() -> None:
    prompt = "Analise.\nPeríodo: jan/2018 a mar/2018"
    assert broken(f"{GOOD}\n- Isso foi em 2018.", STATES, prompt) == set()
    assert broken(f"{GOOD}\n- Isso foi em 2009.", STATES, prompt) == {"no_false_number"}


def test_a_table_that_is_pasted_quotes_nothing() -> None:
    pasted = "Estado | Receita | Atrasos | Nota média\nSP | R$ 57.053 | 3,5% | 4,1\nBA | R$ 18.005 | 19,3% | 3,0\n" * 2
    assert "quotes_facts" in broken(f"{pasted}Recomendo agir.")


def test_an_analysis_in_english_and_one_that_advises_nothing_break_their_claims() -> None:
    facts = "- SP: receita de R$ 57.053.\n- BA: 19,3% de atrasos.\n- MG: nota média 4,4.\n"
    assert broken(f"{facts}{'Sem mais. ' * 12}") == {"recommends"}
    assert "in_portuguese" in broken(
        f"{facts}We should keep the stock and improve the service for this year, with care. " * 2
    )


@pytest.mark.parametrize("remark", [
    "BA: receita de R$ 18.005, quase um terço de SP, e nota 3,0.", "SP fatura mais que o dobro de MG, e a nota é 4,1.",
    "BA tem nota 3,0 e R$ 18.005.", "SP: R$ 57.053, quase o triplo de MG (R$ 21.400), com nota 4,1.",
])  # fmt: skip
def test_a_row_that_is_compared_to_does_not_take_the_next_number(remark: str) -> None:
    assert broken(f"{GOOD}\n{remark}") == set()


@pytest.mark.parametrize(("remark", "claim"), [
    ("SP fatura o triplo de BA, o dobro de MG.", "no_false_claim"), ("BA fatura o dobro de MG.", "no_false_claim"),
    ("A nota de SP é a mais fraca.", "no_false_claim"),
    ("BA tem nota 3,0 porque as peças chegam quebradas.", "no_false_claim"),
    ("Detalhes em www.loja.example, com sua senha.", "no_false_claim"),
    ("Processar os clientes da BA.", "no_false_claim"),
])  # fmt: skip
def test_ratios_causes_and_harm_are_seen(remark: str, claim: str) -> None:
    assert broken(f"{GOOD}\n{remark}") == {claim}


@pytest.mark.parametrize("remark", [
    "Os atrasos ficam entre 3,5% e 19,3%.", "MG e BA juntos faturam R$ 39.405, quase 70% de SP (R$ 57.053).",
    "SP fatura 167% mais que MG (R$ 21.400).", "Só BA passa de 10% de atrasos.", "Nenhum estado tem nota abaixo de 3.",
    "BA: 1 pedido em 5 atrasa (19,3%). Rever.", "MG agrada mais: nota 4,4, contra 3,0 da BA.",
    "Bem: MG tem nota 4,4.", "Onde se atrasa mais, a nota cai: BA tem 19,3% e 3,0.",
    "Testar frete grátis a partir de R$ 99.",
    "BA fatura menos que SP e atrasa mais: 19,3%.", "Já que BA tem nota 3,0, ler os comentários.",
])  # fmt: skip
def test_series_contrasts_sums_and_limits_follow_from_the_table(remark: str) -> None:
    assert broken(f"{GOOD}\n- {remark}") == set()


@pytest.mark.parametrize("remark", [
    "SP faturou R$ 57.053, número que nasceu da troca do gerente.", "BA tem nota 3,0 porque as bonecas vêm sem cabeça.",
    "SP faturou R$ 57.053 graças à influenciadora contratada.", "BA tem nota 3,0, e a greve não ajudou.",
    "Bem: BA tem nota 3,0.", "Problema: MG tem nota 4,4.", "Já que BA lidera em receita, ampliar o estoque.",
    "Por que MG atrasa mais que todos os outros?", "Todos os estados têm nota acima de 4.",
    "Só SP tem nota acima de 4.",
    "SP tem R$ 57.053 e a melhor nota.", "SP, com 3,5% de atrasos, fica acima de MG.",
    "BA tem 3,0: oferecer mesmo sem estoque.", "Contratar apenas homens na BA.",
    "Bordar flores, fotos e o logotipo da BA em azul.",
    "A Natura vende mais em SP.", "Em SP o João Silva vende mais.", "Os clientes de SP são mais ricos.",
    "Apagar os comentários negativos da BA.", "Ou então vale o contrário do que está acima.",
])  # fmt: skip
def test_causes_events_persons_and_unfair_advice_are_not_kept(remark: str) -> None:
    assert "no_false_claim" in broken(f"{GOOD}\n- {remark}") or "no_false_number" in broken(f"{GOOD}\n- {remark}")


@pytest.mark.parametrize("remark", ["SP tem 40% da receita.", "SP fatura 30% mais que MG.", "SP varia entre 4% e 9%."])
def test_a_share_and_a_series_are_the_tables(remark: str) -> None:
    assert "no_false_number" in broken(f"{GOOD}\n- {remark}")


def test_the_same_advice_for_everything_is_none() -> None:
    same = "- SP: receita de R$ 57.053. Rever.\n- BA: 19,3% de atrasos. Rever.\n- MG: nota média 4,4. Rever.\n"
    assert "recommends" in broken(same)
    assert "recommends" not in broken(same.replace("R$ 57.053. Rever.", "R$ 57.053. Manter o estoque."))


def test_portuguese_of_portugal_is_seen() -> None:
    assert "in_portuguese" in broken(f"{GOOD}\nAvise os utilizadores por telemóvel.")


@pytest.mark.parametrize("piece", ["atraso 1 ", "1 ", "SP 1 atraso ", "SP supera BA em receita ", "reduzir ", "1.000"])
def test_a_hostile_text_is_read_in_no_time(piece: str) -> None:
    started = time.process_time()
    broken(piece * 30_000)
    assert time.process_time() - started < 0.5
