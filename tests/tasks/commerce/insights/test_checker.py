"""The checker: what it holds true is what independent code holds true, and nothing that it reads raises."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from tasks.commerce.insights.phrases import actions
from tasks.commerce.insights.render import render
from tasks.commerce.insights.scorer import (
    Checked,
    CitedFinding,
    Fault,
    check,
    claim_fault,
    is_opposed,
    read_answer,
    score,
)
from tasks.commerce.insights.table import FigureTable, read_table
from tasks.commerce.insights.task import answer, findings_grammar
from tasks.commerce.insights.truth import Known, is_true, metric, read_cells
from tests.tasks.commerce.insights.tables import (
    FACTS,
    all_findings,
    answer_of,
    broken_prompts,
    cells_of,
    prompt_of,
    prompts,
)

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
        if known.parts is known:
            assert (found.said is not None) == is_true(each, known), each
        else:
            # Figures may be a sum by chance: then a name decides, and the truth takes either reading.
            assert found.said is None or is_true(each, known), each


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
    rows = len({cell.split(" | ")[1] for cell in cells})
    findings = [
        CitedFinding(title, fact, text, row, "", other)
        for (row, title), text in table.texts.items()
        for fact in FACTS
        for other in (table.rows if fact == "razao" else [""])
    ]
    for each in findings:
        if claim_fault(table, each) is None and (known.parts is not known or len(table.compared) == rows):
            assert is_true(each._asdict(), known), each
    drawn = data.draw(st.lists(st.sampled_from(findings), min_size=1, max_size=4))
    # Without another row a ratio has an empty one, as a model may write it.
    as_said = [{key: text for key, text in each._asdict().items() if text or key != "outra"} for each in drawn]
    written = answer_of({**as_said[0], "fato": "razao", "outra": ""}, *as_said)
    rollout = Rollout(prompt_id="-", task="insights", prompt=prompt, completion=written, reference={"facts": cells})
    assert all(0 <= share <= 1 for share in metric([rollout], None).values())
    assert all(0 <= value <= 1 for value in score(written, prompt, None, None).components.values())
    said = render(written, prompt).text or ""
    assert not re.search(r"inf |[{}]|  | de[:.]|\d{13}", said), said


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (finding("maior", "R$ 9.000"), None),
        (finding("maior", "R$ 9.001"), Fault.VALUE),
        (finding("menor", "R$ 9.000"), Fault.FACT),
        (finding("melhor", "R$ 9.000"), Fault.FACT),
        (finding("maior", "R$ 9.000", column="Margem"), Fault.COLUMN),
        (finding("maior", "R$ 9.000", row="Mato"), Fault.ROW),
        (finding("pior", "12,0%", "Mato Grosso", "Atrasos"), None),
        (finding("pior", "12,0%", "Mato Grosso do Sul", "Atrasos"), Fault.VALUE),
        (finding("maior", "R$ 9.000", action="regiao_manter"), None),
        (finding("maior", "R$ 9.000", action="vender_dados"), Fault.FORM),
        (finding("maior", "R$ 9.000", action="atraso_rota"), Fault.ACTION),
        (finding("melhor", "5,0", "RO", "Nota média", "nota_elogios"), Fault.ACTION),
        (finding("melhor", "0,0%", "RO", "Atrasos", "atraso_copiar"), Fault.ACTION),
        (finding("maior", "R$ 9.000") | {"nota": "compre já"}, Fault.FORM),
        (finding("maior", "R$ 9.000") | {"outra": "RO"}, Fault.FORM),
        (finding("razao", "R$ 9.000") | {"outra": "Mato Grosso"}, None),
        (finding("razao", "R$ 9.000") | {"outra": "RO"}, Fault.FACT),
        (finding("razao", "R$ 9.000") | {"outra": "{nome}"}, Fault.ROW),
        (finding("razao", "R$ 9.000") | {"outra": ""}, Fault.ROW),
    ],
)
def test_a_finding_has_its_fault(given: dict[str, str], fault: Fault | None) -> None:
    (found,) = checked(given)
    assert found.fault is fault


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
    assert faults[:3] == [None, Fault.REPEATED, Fault.OPPOSED]
    assert faults[3] in (Fault.REPEATED_ACTION, Fault.ACTION)


def test_a_rise_is_one_since_the_calendar_month_before() -> None:
    rows = {"janeiro/2018": ["R$ 100"], "fevereiro/2018": ["R$ 200"], "maio/2018": ["R$ 300"]}
    prompt = prompt_of("Mês", ["Receita"], rows)
    fevereiro, maio = checked(
        finding("subiu", "R$ 200", "fevereiro/2018"), finding("subiu", "R$ 300", "maio/2018"), prompt=prompt
    )
    assert fevereiro.fault is None
    assert maio.fault is Fault.FACT


def test_a_high_delay_asks_for_nothing_below_the_columns_own_floor() -> None:
    rows = {"SP": ["3,0%"], "RJ": ["0,0%"], "MG": ["0,2%"]}
    (found,) = checked(
        finding("pior", "3,0%", column="Atrasos", action="atraso_rota"), prompt=prompt_of("Estado", ["Atrasos"], rows)
    )
    assert found.fault is Fault.ACTION


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "SP vende mais.",
        "[]",
        '{"achados":[]}',
        '{"achados":{}}',
        '{"achados":[1,2],"texto":"compre"}',
        answer_of(*[finding("maior", "R$ 9.000")] * 200),
        '{"achados":' + "[" * 3_000 + "]" * 3_000 + "}",
        '{"achados":[' + '{"a":' * 900 + "1" + "}" * 900 + "]}",
        answer_of(finding("maior", "9" * 100_000)),
        '{"achados":["\ud800","x"]}',
        '{"achados":[NaN, 1]}',
        answer_of(finding("maior", "R$ 9.000")) + " Espero ter ajudado!",
    ],
)
def test_what_has_another_form_is_not_read(answer: str) -> None:
    assert read_answer(answer) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_value_in_place_of_a_finding_raises(value: object) -> None:
    read = read_answer(json.dumps({"achados": [value, {**finding("maior", "R$ 9.000"), "valor": value}]}))
    if read is not None:
        assert all(each.said is None for each in check(table_of(STATES), read))


def test_a_row_whose_orders_cannot_be_read_has_no_rate_and_the_others_keep_their_notes() -> None:
    rows = {
        "RR": ["5,0", "R$ 9", "3"],
        "SP": ["4,1", "R$ 90", "500"],
        "BA": ["4,0", "R$ 60", "-"],
        "AC": ["2,0", "R$ 7", "2"],
    }
    prompt = prompt_of("Estado", ["Nota média", "Receita", "Pedidos"], rows)
    best, mere, revenue, action = checked(
        finding("melhor", "5,0", "RR", "Nota média"),
        finding("valor", "4,0", "BA", "Nota média"),
        finding("acima", "R$ 60", "BA", action="regiao_manter"),
        finding("pior", "2,0", "AC", "Nota média", "nota_descricao"),
        prompt=prompt,
    )
    assert (best.fault, mere.fault, revenue.fault) == (None, Fault.FACT, Fault.ACTION)
    assert action.fault is Fault.ACTION
    known = known_of(prompt)
    assert not is_true(finding("valor", "4,0", "BA", "Nota média"), known)
    assert "apenas 3 pedidos" in (render(answer_of(finding("melhor", "5,0", "RR", "Nota média")), prompt).text or "")


def test_a_rate_of_many_orders_is_no_end_beside_rows_of_few() -> None:
    rows = {"SP": ["7,5%", "41"], "BA": ["0,0%", "7"], "RJ": ["1,0%", "8"]}
    prompt = prompt_of("Estado", ["Atrasos", "Pedidos"], rows)
    worst, above, best = checked(
        finding("pior", "7,5%", column="Atrasos"),
        finding("acima", "7,5%", column="Atrasos"),
        finding("melhor", "0,0%", "BA", "Atrasos"),
        prompt=prompt,
    )
    assert (worst.fault, above.fault, best.fault) == (Fault.FACT, Fault.FACT, None)


@pytest.mark.parametrize(
    ("column", "own", "other"),
    [("Atrasos", "14,1%", "3,0%"), ("Nota média", "4,0", "4,1"), ("Frete médio", "R$ 18", "R$ 15")],
)
def test_a_row_that_is_the_worst_in_something_is_not_promoted(column: str, own: str, other: str) -> None:
    for cell, fault in ((own, Fault.ACTION), (other, None)):
        rows = {"SP": ["R$ 900", cell], "RJ": ["R$ 90", other], "BA": ["R$ 80", other]}
        promoted, watched = checked(
            finding("maior", "R$ 900", action="regiao_manter"),
            finding("acima", "R$ 900", action="regiao_dependencia"),
            prompt=prompt_of("Estado", ["Receita", column], rows),
        )
        assert (promoted.fault, watched.fault) == (fault, Fault.REPEATED)


def test_a_month_that_only_recovered_is_no_model() -> None:
    rows = {"janeiro/2018": ["R$ 90.000"], "fevereiro/2018": ["R$ 8.000"], "março/2018": ["R$ 20.000"]}
    for cell, fault in (("R$ 20.000", Fault.ACTION), ("R$ 200.000", None)):
        rows["março/2018"] = [cell]
        (found,) = checked(
            finding("subiu", cell, "março/2018", action="mes_plano"), prompt=prompt_of("Mês", ["Receita"], rows)
        )
        assert found.fault is fault


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("regiao_manter", "regiao_divulgar"),
        ("regiao_dependencia", "regiao_divulgar"),
        ("vitrine_destaque", "estoque_reduzir"),
        ("estoque_ampliar", "vitrine_rever"),
        ("amostra_esperar", "vendedor_atrair"),
        ("dia_equipe", "dia_campanha"),
    ],
)
def test_one_row_is_given_no_two_actions_that_contradict_each_other(one: str, other: str) -> None:
    assert is_opposed(one, "SP", {other: "SP"})
    assert is_opposed(other, "SP", {one: "SP"})
    assert not is_opposed(other, "SP", {one: "BA"})


@pytest.mark.parametrize(
    ("column", "own", "other", "holds"),
    [
        ("Atrasos", "0,2%", "0,1%", False),
        ("Atrasos", "2,4%", "1,1%", True),
        ("Pedidos", "200", "100", True),
        ("Receita", "R$ 100", "R$ 1", False),
        ("Pedidos", "9.900", "100", True),
        ("Pedidos", "10.000", "100", False),
    ],
)
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


def test_every_action_fits_somewhere_and_opposites_are_of_one_kind_of_row() -> None:
    for action in actions().values():
        assert action.lado in ("alto", "baixo", "ambos")
        for other in action.opostos or ():
            assert set(action.linhas) & set(actions()[other].linhas), (action.id, other)


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (
            ["Receita", "Nota média", "Pedidos"],
            {
                "instrumentos": ["R$ 853", "4,2", "6"],
                "panelas": ["R$ 6.608", "3,6", "70"],
                "fornos": ["R$ 249", "4,7", "7"],
            },
        ),
        (
            ["Receita", "Atrasos", "Pedidos"],
            {
                "fornos": ["R$ 1.000", "60,0%", "80"],
                "panelas": ["R$ 9.000", "60,0%", "90"],
                "facas": ["R$ 800", "2,0%", "70"],
            },
        ),
        (
            ["Receita", "Atrasos", "Pedidos"],
            {
                "fornos": ["R$ 1.000", "2,0%", "80"],
                "panelas": ["R$ 9.000", "60,0%", "90"],
                "facas": ["R$ 800", "-", "70"],
            },
        ),
    ],
)
def test_no_row_is_promoted_than_which_none_is_worse_in_what_can_be_read(
    columns: list[str], rows: dict[str, list[str]]
) -> None:
    revenue = finding("maior", rows["panelas"][0], "panelas", action="vitrine_destaque")
    (found,) = checked(revenue, prompt=prompt_of("Categoria", columns, rows))
    assert found.fault is Fault.ACTION


@pytest.mark.parametrize(
    "name",
    [
        *("cigarros", "vinhos", "munições", "gin", "testes de HIV", "fórmulas infantis", "vınhos"),
        *("maconha", "omeprazol", "compradores judeus", "mulheres negras", "Vendas do Sudeste"),
    ],
)
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


def test_no_row_is_promoted_that_is_late_or_ill_rated_though_not_the_worst() -> None:
    columns = ["Receita", "Nota média", "Atrasos", "Pedidos"]
    others = {"jogos": ["R$ 100", "1,2", "61,0%", "80"], "flores": ["R$ 300", "4,9", "1,0%", "90"]}
    cases = {("1,3", "60,0%"): Fault.ACTION, ("4,8", "14,0%"): None, ("4,8", "15,0%"): Fault.ACTION}
    for (rating, late), fault in cases.items():
        rows = {"livros": ["R$ 9.000", rating, late, "900"], **others}
        promoted = finding("maior", "R$ 9.000", "livros", action="vitrine_destaque")
        assert checked(promoted, prompt=prompt_of("Categoria", columns, rows))[0].fault is fault
    rows = {"livros": ["R$ 9.000", "4,8", "9,0%", "900"], "jogos": ["R$ 100", "4,7", "3,0%", "80"]}
    rows |= {"flores": ["R$ 300", "4,9", "9,5%", "90"], "malas": ["R$ 300", "4,9", "2,0%", "90"]}
    ranked = checked(promoted, prompt=prompt_of("Categoria", columns, rows))
    assert ranked[0].fault is Fault.ACTION


def test_an_action_has_its_premise() -> None:
    rows = {"papelaria": ["R$ 900", "900"], "móveis": ["R$ 9.000", "40"], "jogos": ["R$ 8.000", "50"]}
    prompt = prompt_of("Categoria", ["Receita", "Pedidos"], rows)
    (less,) = checked(finding("menor", "R$ 900", "papelaria", action="estoque_reduzir"), prompt=prompt)
    assert less.fault is Fault.ACTION
    rows = {"AC": ["0%", "5,0", "0"], "SP": ["8%", "4,1", "300"], "RJ": ["9%", "4,0", "200"]}
    (none,) = checked(
        finding("melhor", "0%", "AC", "Atrasos"), prompt=prompt_of("Estado", ["Atrasos", "Nota média", "Pedidos"], rows)
    )
    assert none.fault is Fault.FACT
    assert is_opposed("nota_comentarios", "AC", {"amostra_esperar": "AC"})


def test_a_row_whose_name_no_list_knows_has_no_action_and_stands_in_quotation_marks() -> None:
    rows = {"Lisboa": ["R$ 900"], "SP": ["R$ 90"], "Parana": ["R$ 80"]}
    prompt = prompt_of("Estado", ["Receita"], rows)
    odd, known = checked(
        finding("maior", "R$ 900", "Lisboa", action="regiao_manter"), finding("menor", "R$ 80", "Parana"), prompt=prompt
    )
    assert (odd.fault, known.fault) == (Fault.ACTION, None)
    said = (
        render(answer_of(finding("maior", "R$ 900", "Lisboa"), finding("menor", "R$ 80", "Parana")), prompt).text or ""
    )
    assert "“Lisboa”" in said and "no Parana" in said.replace("do Parana", "no Parana")


def test_a_shops_own_column_is_as_the_one_that_it_means() -> None:
    rows = {"SP": ["R$ 900", "4,1"], "RJ": ["R$ 90", "4,5"], "BA": ["R$ 80", "4,4"]}
    prompt = prompt_of("Estado", ["Faturamento", "Avaliação média"], rows)
    revenue, rating, plain = checked(
        finding("maior", "R$ 900", column="Faturamento", action="regiao_dependencia"),
        finding("pior", "4,1", column="Avaliação média", action="nota_comentarios"),
        finding("menor", "R$ 80", "BA", "Faturamento", "nota_comentarios"),
        prompt=prompt,
    )
    assert (revenue.fault, rating.fault, plain.fault) == (None, None, Fault.ACTION)
    assert is_true(finding("pior", "4,1", column="Avaliação média"), known_of(prompt))
    said = render(answer_of(finding("maior", "R$ 900", column="Faturamento")), prompt).text or ""
    assert "faturamento" in said and "receita" not in said
