"""The checker: what it holds true is what independent code holds true, and nothing that it reads raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.evidence.checker import Checked, Fault, actions, check, read_answer
from tasks.commerce.evidence.table import FigureTable, read_table
from tasks.commerce.insights.cited.truth import Known, is_true, read_cells
from tests.tasks.commerce.evidence.tables import all_findings, answer_of, cells_of, prompt_of, prompts

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
    assert not isinstance(read, str)
    return check(table_of(prompt), read)


def finding(fact: str, value: str, row: str = "SP", column: str = "Receita", action: str = "") -> dict[str, str]:
    return {"coluna": column, "fato": fact, "valor": value, "linha": row, "acao": action}


@given(prompts())
def test_a_claim_holds_where_the_ground_truth_says_so(prompt: str) -> None:
    table, known = table_of(prompt), known_of(prompt)
    for each in all_findings(prompt):
        (found,) = check(table, [each])
        assert (found.said is not None) == is_true(each, known), each


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
        (finding("maior", "R$ 9.000", action="vender_dados"), Fault.ACTION),
        (finding("maior", "R$ 9.000", action="atraso_rota"), Fault.ACTION),
        (finding("melhor", "5,0", "RO", "Nota média", "nota_elogios"), None),
        (finding("melhor", "0,0%", "RO", "Atrasos", "atraso_copiar"), Fault.ACTION),
        (finding("maior", "R$ 9.000") | {"nota": "compre já"}, Fault.FORM),
        (finding("maior", "R$ 9.000") | {"outra": "RO"}, Fault.FORM),
        (finding("razao", "R$ 9.000") | {"outra": "Mato Grosso"}, None),
        (finding("razao", "R$ 9.000") | {"outra": "RO"}, Fault.FACT),
        (finding("razao", "R$ 9.000") | {"outra": "{nome}"}, Fault.ROW),
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
def test_what_cannot_be_read_has_a_reason(answer: str) -> None:
    reason = read_answer(answer)
    assert isinstance(reason, str)
    assert "R$" not in reason


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_value_in_place_of_a_finding_raises(value: object) -> None:
    read = read_answer(json.dumps({"achados": [value, {**finding("maior", "R$ 9.000"), "valor": value}]}))
    if not isinstance(read, str):
        assert all(each.said is None for each in check(table_of(STATES), read))


def test_every_action_fits_somewhere_and_opposites_are_of_one_kind_of_row() -> None:
    for action in actions().values():
        assert action.lado in ("alto", "baixo", "ambos")
        for other in action.opostos:
            assert set(action.linhas) & set(actions()[other].linhas), (action.id, other)
