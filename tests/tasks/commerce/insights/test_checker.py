"""The checker: what it holds true is what independent code holds true, and nothing that it reads raises."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from tasks.commerce.insights.prompts import cells_of
from tasks.commerce.insights.render import render
from tasks.commerce.insights.scorer import Checked, CitedFinding, Fault, check, read_answer, score
from tasks.commerce.insights.scorer import is_true as holds
from tasks.commerce.insights.table import FigureTable, read_table
from tasks.commerce.insights.task import answer, findings_grammar
from tasks.commerce.insights.truth import Known, is_true, metric, read_cells
from tests.cases import cases_of
from tests.tasks.commerce.insights.tables import FACTS, all_findings, answer_of, broken_prompts, prompt_of, prompts

CASES = cases_of(__file__)
STATES = prompt_of(
    "Estado",
    ["Receita", "Atrasos", "Nota média", "Pedidos"],
    {
        "Mato Grosso": ["R$ 1.000", "12,0%", "3,2", "40"],
        "Mato Grosso do Sul": ["R$ 2.500", "3,0%", "4,6", "90"],
        "SP": ["R$ 9.000", "3,0%", "4,1", "300"],
        "RO": ["R$ 600", "0,0%", "5,0", "6"],
    },
)


def table_of(prompt: str) -> FigureTable:
    table = read_table(prompt)
    assert table is not None
    return table


def known_of(prompt: str) -> Known:
    known = read_cells(cells_of(prompt))
    assert known is not None
    return known


def checked(*findings: dict[str, str], prompt: str = STATES) -> list[Checked]:
    read = read_answer(answer_of(*findings))
    assert read is not None
    return check(table_of(prompt), read)


def finding(fact: str, value: str, row: str = "SP", column: str = "Receita", action: str = "") -> dict[str, str]:
    return {"coluna": column, "fato": fact, "valor": value, "linha": row, "acao": action}


@given(prompts())
def test_a_claim_holds_where_the_ground_truth_says_so(prompt: str) -> None:
    table, known = table_of(prompt), known_of(prompt)
    for each in all_findings(prompt):
        (found,) = check(table, [each])
        assert (found.said is not None) == is_true(each, known), each


@given(st.data(), broken_prompts())
@settings(max_examples=200)
def test_no_table_raises_and_what_holds_of_it_is_true(data: st.DataObject, prompt: str) -> None:
    cells = [cell for cell in cells_of(prompt) if cell.count(" | ") == 3]
    known, table = read_cells(cells), read_table(prompt)
    assert known is not None
    assert answer({"facts": cells_of(prompt)})
    if table is None:
        return
    assert all(0 <= each < 1 for each in table.salience.values())
    assert "()" not in findings_grammar(table)
    findings = [
        CitedFinding(title, fact, text, row, "", other)
        for (row, title), text in table.texts.items()
        for fact in FACTS
        for other in (table.rows if fact == "razao" else [""])
    ]
    for each in findings:
        assert not holds(table, each) or is_true(each._asdict(), known), each
    drawn = data.draw(st.lists(st.sampled_from(findings), min_size=1, max_size=4))
    # Without another row a ratio has an empty one, as a model may write it.
    as_said = [{key: text for key, text in each._asdict().items() if text or key != "outra"} for each in drawn]
    written = answer_of({**as_said[0], "fato": "razao", "outra": ""}, *as_said)
    rollout = Rollout(prompt_id="-", task="insights", prompt=prompt, completion=written, reference={"facts": cells})
    assert all(0 <= share <= 1 for share in metric([rollout], None).values())
    assert all(0 <= value <= 1 for value in score(written, prompt, None, None).components.values())
    said = render(written, prompt).text or ""
    assert not re.search(r"inf |[{}]|  | de[:.]|\d{13}", said), said


@pytest.mark.parametrize(("given", "fault"), CASES["faults"])
def test_a_finding_has_its_fault(given: dict[str, str], fault: str | None) -> None:
    (found,) = checked(given)
    assert found.fault is (Fault[fault] if fault else None)


def test_a_cell_and_an_action_count_once_and_a_row_bears_no_contradiction() -> None:
    manter, rever = finding("maior", "R$ 9.000", action="regiao_manter"), finding("maior", "300", column="Pedidos")
    faults = [
        each.fault
        for each in checked(
            manter,
            finding("acima", "R$ 9.000"),
            rever | {"acao": "regiao_dependencia"},
            finding("acima", "90", "Mato Grosso do Sul", "Pedidos", "regiao_manter"),
        )
    ]
    assert faults == [None, Fault.REPEATED, Fault.ACTION, Fault.ACTION]


def test_a_month_that_only_recovered_is_no_model() -> None:
    rows = {"janeiro/2018": ["R$ 90.000"], "fevereiro/2018": ["R$ 8.000"], "março/2018": ["R$ 20.000"]}
    for cell, fault in (("R$ 20.000", Fault.ACTION), ("R$ 200.000", None)):
        rows["março/2018"] = [cell]
        (found,) = checked(
            finding("subiu", cell, "março/2018", action="mes_plano"), prompt=prompt_of("Mês", ["Receita"], rows)
        )
        assert found.fault is fault


@pytest.mark.parametrize(("column", "own", "other", "holds"), CASES["ratios"])
def test_a_ratio_holds_however_its_figures_were_rounded_and_is_none_of_a_hundred(
    column: str, own: str, other: str, *, holds: bool
) -> None:
    prompt = prompt_of("Estado", [column], {"SP": [own], "RJ": [other]})
    (found,) = checked(finding("razao", own, column=column) | {"outra": "RJ"}, prompt=prompt)
    assert (
        (found.fault is None)
        == holds
        == is_true(finding("razao", own, column=column) | {"outra": "RJ"}, known_of(prompt))
    )


@pytest.mark.parametrize("name", CASES["restricted"])
def test_nothing_is_advised_that_sells_what_a_law_restricts(name: str) -> None:
    rows = {name: ["R$ 900", "900"], "jogos": ["R$ 9.000", "90"], "livros": ["R$ 8.000", "80"]}
    prompt = prompt_of("Categoria", ["Receita", "Pedidos"], rows)
    faults = {
        action: checked(finding("menor", "R$ 900", name, action=action), prompt=prompt)[0].fault
        for action in ("anuncio_testar", "sortimento_ouvir", "preco_comparar", "")
    }
    assert [each for each, fault in faults.items() if fault is None] == ["preco_comparar", ""]
    (restocked,) = checked(finding("maior", "900", name, "Pedidos", "estoque_ampliar"), prompt=prompt)
    assert restocked.fault is Fault.ACTION
    rows = {"Móveis e decoração": ["R$ 900", "900"], "jogos": ["R$ 9.000", "90"], "livros": ["R$ 8.000", "80"]}
    known = finding("menor", "R$ 900", "Móveis e decoração", action="anuncio_testar")
    assert checked(known, prompt=prompt_of("Categoria", ["Receita", "Pedidos"], rows))[0].fault is None


@pytest.mark.parametrize(("columns", "rows", "fault"), CASES["promoted"])
def test_no_row_is_promoted_that_is_bad_in_what_can_be_read(
    columns: list[str], rows: dict[str, list[str]], fault: str | None
) -> None:
    table = {"Móveis e decoração" if name == "facas" else name: ["R$ 100", *cells] for name, cells in rows.items()}
    table["Móveis e decoração"][0] = "R$ 9.000"
    promoted = finding("maior", "R$ 9.000", "Móveis e decoração", action="vitrine_destaque")
    (found,) = checked(promoted, prompt=prompt_of("Categoria", ["Receita", *columns], table))
    assert found.fault is (Fault[fault] if fault else None)


def test_an_action_has_its_premise() -> None:
    rows = {"papelaria": ["R$ 900", "900"], "móveis": ["R$ 9.000", "40"], "jogos": ["R$ 8.000", "50"]}
    prompt = prompt_of("Categoria", ["Receita", "Pedidos"], rows)
    (less,) = checked(finding("menor", "R$ 900", "papelaria", action="estoque_reduzir"), prompt=prompt)
    assert less.fault is Fault.ACTION
    rows = {"AC": ["0%", "5,0", "0"], "SP": ["8%", "4,1", "300"], "RJ": ["9%", "4,0", "200"]}
    (none,) = checked(
        finding("melhor", "0%", "AC", "Atrasos"), prompt=prompt_of("Estado", ["Atrasos", "Nota média", "Pedidos"], rows)
    )
    assert none.fault is Fault.FALSE


def test_a_shops_own_column_is_as_the_one_that_it_means() -> None:
    rows = {"SP": ["R$ 900", "4,1"], "RJ": ["R$ 90", "4,5"], "BA": ["R$ 80", "4,4"]}
    prompt = prompt_of("Estado", ["Faturamento", "Avaliação média"], rows)
    revenue, rating = checked(
        finding("maior", "R$ 900", column="Faturamento", action="regiao_dependencia"),
        finding("pior", "4,1", column="Avaliação média", action="nota_comentarios"),
        prompt=prompt,
    )
    assert (revenue.fault, rating.fault) == (None, None)
    assert is_true(finding("pior", "4,1", column="Avaliação média"), known_of(prompt))
    said = render(answer_of(finding("maior", "R$ 900", column="Faturamento")), prompt).text or ""
    assert "faturamento" in said and "receita" not in said


def test_the_median_is_exact_and_printed_so() -> None:
    prompt = prompt_of(
        "Estado",
        ["Receita", "Pedidos"],
        {"SP": ["R$ 4", "60"], "RJ": ["R$ 3", "50"], "BA": ["R$ 2", "41"], "MG": ["R$ 1", "40"]},
    )
    above, below = finding("acima", "R$ 3", "RJ"), finding("abaixo", "41", "BA", "Pedidos")
    said = render(answer_of(above, below), prompt).text or ""
    assert "mediana da tabela, R$ 2,50" in said or "mediana da tabela (R$ 2,50)" in said
    assert "45,5" in said


@pytest.mark.parametrize("prompt", CASES["a_table_whose_true_sentences_mislead_is_none"])
def test_a_table_whose_true_sentences_mislead_is_none(prompt: str) -> None:
    assert read_table(prompt) is None


def test_a_row_that_no_list_knows_beside_known_ones_has_no_finding_and_no_median() -> None:
    rows = {"janeiro/2018": ["R$ 300"], "fevereiro/2018": ["R$ 200"], "março/2018": ["R$ 100"], "Delta": ["R$ 2"]}
    odd, below, least = checked(
        finding("menor", "R$ 2", "Delta"),
        finding("abaixo", "R$ 100", "março/2018"),
        finding("maior", "R$ 300", "janeiro/2018"),
        prompt=prompt_of("Mês", ["Receita"], rows),
    )
    assert (odd.fault, below.fault, least.fault) == (Fault.FALSE, Fault.FALSE, None)


def test_no_mean_is_told_beside_a_count_that_is_not_read_and_the_least_of_several_counts() -> None:
    best = finding("melhor", "5,0", "AC", "Nota média")
    rows = {"SP": ["4,1", "900"], "RJ": ["4,0", "800"], "AC": ["5,0", "1"]}
    assert read_table(prompt_of("Estado", ["Nota média", "Qtd. compras"], rows)) is None
    assert read_table(prompt_of("Estado", ["Nota média", "Margem"], rows)) is not None
    two = {row: [*cells[:1], "950", cells[1]] for row, cells in rows.items()}
    said = render(answer_of(best), prompt_of("Estado", ["Nota média", "Número de vendas", "Pedidos"], two)).text or ""
    assert "apenas 1 pedido:" in said
    two["AC"] = ["5,0", "1", "950"]
    said = render(answer_of(best), prompt_of("Estado", ["Nota média", "Número de vendas", "Pedidos"], two)).text or ""
    assert "apenas 1 venda:" in said
    two["AC"] = ["5,0", "0", "950"]
    (none,) = checked(best, prompt=prompt_of("Estado", ["Nota média", "Número de vendas", "Pedidos"], two))
    assert none.fault is Fault.FALSE
