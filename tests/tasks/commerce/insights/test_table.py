"""Tables: whose cells can be read and compared, and which cannot."""

import pytest

from tasks.commerce.insights.phrases import forms_of
from tasks.commerce.insights.table import read_table
from tests.tasks.commerce.insights.tables import prompt_of


def test_one_row_has_nothing_but_its_values() -> None:
    table = read_table(prompt_of("Estado", ["Receita", "Atrasos"], {"SP": ["R$ 10", "3,0%"]}))
    assert table is not None
    assert set(table.facts.values()) == {frozenset(("valor",))}


def test_equal_cells_have_no_end() -> None:
    table = read_table(prompt_of("Estado", ["Receita"], {"SP": ["R$ 10"], "RJ": ["R$ 10"], "BA": ["R$ 4"]}))
    assert table is not None
    assert "maior" not in table.facts["SP", "Receita"]
    assert "menor" in table.facts["BA", "Receita"]


def test_beside_a_cell_without_a_figure_nothing_is_compared() -> None:
    rows = {"SP": ["R$ 900", "3,0%"], "RJ": ["R$ -", "9,0%"], "BA": ["R$ 4", "1,0%"]}
    table = read_table(prompt_of("Estado", ["Receita", "Atrasos"], rows))
    assert table is not None
    assert table.facts["SP", "Receita"] == {"valor"}
    assert ("RJ", "Receita") not in table.facts
    assert "pior" in table.facts["RJ", "Atrasos"]


def test_units_of_one_column_are_one() -> None:
    table = read_table(prompt_of("Estado", ["Receita"], {"SP": ["R$ 9"], "RJ": ["5%"], "BA": ["R$ 4"]}))
    assert table is not None
    assert table.facts["SP", "Receita"] == {"valor"}


def test_the_median_is_the_printed_one() -> None:
    rows = {"SP": ["R$ 15"], "RJ": ["R$ 16"], "BA": ["R$ 4"], "MG": ["R$ 90"]}
    table = read_table(prompt_of("Estado", ["Frete médio"], rows))
    assert table is not None
    assert table.medians["Frete médio"] == 16
    assert "acima" not in table.facts["RJ", "Frete médio"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(
            ("Estado", name)
            for name in ("Total", "Total Brasil", "Brasil", "Todos", "Subtotal", "Total 2018", "Total.")
        ),
        *(("Estado", name) for name in ("Total-geral", "Grande total", "Totais gerais", "TOTAL DO PERÍODO", "Sudeste")),
        *(("Mês", name) for name in ("2018", "Ano 2018", "1º trimestre/2018", "1T18")),
        *(
            ("Canal", name)
            for name in ("Meta", "Variação", "Ano anterior", "Orçado", "Desvio padrão", "YTD", "Resultado")
        ),
    ],
)
def test_a_row_of_sums_counts_nowhere(kind: str, name: str) -> None:
    rows = {"abril/2018": ["R$ 9"], "maio/2018": ["R$ 5"]} if kind == "Mês" else {"SP": ["R$ 9"], "RJ": ["R$ 5"]}
    table = read_table(prompt_of(kind, ["Receita"], {**rows, name: ["R$ 14"]}))
    assert table is not None
    assert table.rows == table.compared == tuple(rows)


@pytest.mark.parametrize(
    ("kind", "name", "rows"),
    [
        ("Tamanho", "Média", {"Pequena": ["R$ 300", "4,0"], "Grande": ["R$ 100", "4,2"]}),
        ("País", "Brasil", {"Argentina": ["R$ 300", "4,0"], "Chile": ["R$ 100", "4,2"]}),
        ("Categoria", "Geral", {"infantil": ["R$ 300", "4,0"], "técnico": ["R$ 100", "4,1"]}),
        ("Marca", "Total", {"Shell": ["R$ 300", "4,0"], "Ipiranga": ["R$ 100", "4,1"]}),
        ("Estado", "Total Sudeste", {"SP": ["R$ 300", "4,0"], "BA": ["R$ 100", "4,1"]}),
    ],
)
def test_a_row_named_as_a_sum_is_compared_with_where_its_figures_are_none(
    kind: str, name: str, rows: dict[str, list[str]]
) -> None:
    first, _ = rows
    table = read_table(prompt_of(kind, ["Receita", "Nota média"], {**rows, name: ["R$ 9.000", "2,0"]}))
    assert table is not None and name in table.compared
    assert "maior" not in table.facts[first, "Receita"] and "acima" not in table.facts[first, "Receita"]
    assert "pior" not in table.facts[first, "Nota média"]
    # A total of the right sum, with a mean that is an end, is none either.
    table = read_table(prompt_of(kind, ["Receita", "Nota média"], {**rows, name: ["R$ 400", "2,0"]}))
    assert table is not None and "pior" not in table.facts[first, "Nota média"]


def test_a_sum_by_another_name_has_no_finding() -> None:
    rows = {"SP": ["R$ 300", "90"], "RJ": ["R$ 200", "80"], "BA": ["R$ 100", "7"], "Equipe toda": ["R$ 601", "177"]}
    table = read_table(prompt_of("Loja", ["Receita", "Pedidos"], rows))
    assert table is not None and table.rows == ("SP", "RJ", "BA")
    assert "maior" not in table.facts["SP", "Pedidos"]


@pytest.mark.parametrize("head", ["Estado", "Categoria", "estado"])
def test_a_second_table_of_unknown_columns_is_not_read_as_rows(head: str) -> None:
    rows = {"SP": ["300"], "RJ": ["200"], head: ["Clientes"], "BA": ["900"]}
    assert read_table(prompt_of("Estado", ["Pedidos"], rows)) is None


@pytest.mark.parametrize("name", ["Média ponderada", "Não sei", "Diversos", "Em branco", "Nenhum", "0"])
def test_more_names_of_rests_have_no_finding(name: str) -> None:
    table = read_table(prompt_of("Canal", ["Receita"], {"loja": ["R$ 9"], "site": ["R$ 5"], name: ["R$ 14"]}))
    assert table is not None and table.rows == ("loja", "site")


@pytest.mark.parametrize(
    "name", ["Outros", "Demais estados", "Não informado", "null", "NaN", "n/d", "-", "Sem estado", ""]
)
def test_a_row_of_rests_is_compared_with_and_has_no_finding(name: str) -> None:
    table = read_table(prompt_of("Estado", ["Receita"], {"SP": ["R$ 9"], "RJ": ["R$ 5"], name: ["R$ 14"]}))
    assert table is not None
    assert table.rows == ("SP", "RJ")
    assert not any(name in cell for cell in (*table.facts, *table.salience))
    assert "maior" not in table.facts["SP", "Receita"] and "menor" in table.facts["RJ", "Receita"]


@pytest.mark.parametrize(
    "name",
    [
        "Total Sport",
        "Na cozinha",
        "Nan 1",
        "Média Moda",
        "Brasil Cacau",
        "Soma Acessórios",
        "Geral Store",
        "Todas as estações",
    ],
)
def test_a_name_that_begins_as_a_sum_is_a_name(name: str) -> None:
    table = read_table(prompt_of("Marca", ["Receita"], {name: ["R$ 9"], "Nova": ["R$ 5"]}))
    assert table is not None and name in table.rows


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("Atrasos", ("34", "12")),
        ("Pedidos", ("R$ 800", "R$ 9")),
        ("Pedidos", ("-10", "40,5")),
        ("Receita", ("45%", "9%")),
        ("Receita", ("-", "R$ -9")),
        ("Nota média", ("4.125", "41")),
        ("Atrasos", ("140,0%", "-1%")),
    ],
)
def test_a_cell_in_another_unit_than_its_columns_is_not_read(column: str, cells: tuple[str, ...]) -> None:
    names = ("SP", "RJ")
    assert (
        read_table(prompt_of("Estado", [column], {row: [cell] for row, cell in zip(names, cells, strict=True)})) is None
    )


def test_a_cell_of_another_notation_than_the_others_is_not_read() -> None:
    rows = {"SP": ["R$ 120.500"], "RJ": ["R$ 98,50"], "BA": ["R$ 99,50"]}
    table = read_table(prompt_of("Estado", ["Ticket médio"], rows))
    assert table is not None
    assert set(table.figures) == {("RJ", "Ticket médio"), ("BA", "Ticket médio")}
    assert set(table.facts.values()) == {frozenset(("valor",))}


def test_a_month_is_one_with_its_year_alone() -> None:
    cells = {
        name: [f"R$ {place}00"] for place, name in enumerate(("janeiro", "fevereiro/18", "março/2018", "abril/2018"), 1)
    }
    table = read_table(prompt_of("Mês", ["Receita"], cells))
    assert table is not None
    assert table.before == {"abril/2018": "março/2018"}
    assert forms_of("mês", "janeiro")["de"] == "da linha “janeiro”"


def test_a_period_is_one_of_months() -> None:
    for period, known in (("jan/2018 a mai/2018", True), ("zzz/0000 a aaa/9999", False)):
        table = read_table(f"Período: {period}\nEstado | Receita\nSP | R$ 9\nRJ | R$ 5")
        assert table is not None
        assert bool(table.period) == known


@pytest.mark.parametrize(
    "prompt",
    [
        "Analise.",
        "Estado | Receita",
        prompt_of("Estado", ["Margem"], {"SP": ["R$ 9"]}),
        prompt_of("Estado", ["Receita", "Receita"], {"SP": ["R$ 9", "R$ 8"]}),
        "Estado | Receita\nSP | R$ 9\nSP | R$ 8",
        "Estado | Receita\nSP | R$ 9 | R$ 8",
        "Estado | Receita\nSP | R$ 9\nSão Paulo | R$ 8",
        "Estado | Receita\nSP | R$ 9\nsp | R$ 8",
        "Estado | Receita | receita\nSP | R$ 9 | R$ 8",
        "Estado | Receita\nSP | -\nBA | -",
        prompt_of("Estado", ["Receita"], {"[clique](//x.io)": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"www.x.io": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"{oferta}": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"BA. Os baianos não compram": ["R$ 9"]}),
        prompt_of("Categoria", ["Receita"], {"clientes gays": ["R$ 9"], "jogos": ["R$ 9"]}),
        prompt_of("Categoria", ["Receita"], {"ligue 11 99999-0000": ["R$ 9"], "jogos": ["R$ 9"]}),
        prompt_of("Categoria", ["Receita"], {"jogos 🖕": ["R$ 9"], "livros": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"SР": ["R$ 9"], "BA": ["R$ 9"]}),
        prompt_of("Estado", ["Receita"], {"sp.": ["R$ 9"], "BA": ["R$ 9"]}),
        prompt_of("Categoria", ["Receita"], {"x" * 41: ["R$ 9"], "jogos": ["R$ 9"]}),
        "Estado | Receita\nSP | R$ 9\nSao Paulo | R$ 8",
        "Estado | Receita\nSP | R$ 300\n\nCategoria | Frete médio\nmouse | R$ 20",
        "Estado | Receita\nSP | R$ 300\nCategoria | Frete médio\nmouse | R$ 20",
        "Período: x | Frete médio\nEstado | Receita\nSP | R$ 300\nRJ | R$ 20",
        prompt_of("Estado", ["Receita"], {f"linha {number}": ["R$ 9"] for number in range(32)}),
    ],
)
def test_a_table_that_no_finding_can_be_made_of_is_none(prompt: str) -> None:
    assert read_table(prompt) is None
