import json
from pathlib import Path

import pytest

from tasks.commerce.insights.reading import AnalysisReading, lower_case, read_analysis
from tasks.commerce.insights.sentences import lines_of
from tasks.commerce.insights.table import MIDDLING, OTHER_END, Table, period_of, table_of

TABLES = json.loads((Path(__file__).parent / "texts" / "tables.json").read_text(encoding="utf-8"))
MONTHS, _CATEGORIES, PAYMENTS, _DAYS = (place for place in range(4))
VENDORS, ENTREGAS = 6, 8


def table(place: int) -> Table:
    found = table_of(tuple(TABLES[place]["facts"]))
    assert found is not None
    return found


def read(text: str, place: int) -> AnalysisReading:
    folded = lower_case(text)
    lines = lines_of(folded)
    present = {word for line in lines for word in line.words}
    return read_analysis(text, folded, lines, present, TABLES[place]["prompt"], table(place), [], set())


def test_a_table_is_read_from_its_facts() -> None:
    known = table(MONTHS)
    assert [column.name for column in known.columns] == ["receita", "atrasos", "frete"]
    assert known.names == ("outubro/2017", "setembro/2017", "agosto/2017", "julho/2017")
    assert known.times == (24214, 24213, 24212, 24211)
    assert known.cells[1, 1] == 11.0
    assert set(known.worths) == {1.0, OTHER_END, MIDDLING}
    assert table_of((1.5, 7)) is None
    assert table_of(("SP: tudo bem",)) is None


def test_a_period_spans_years() -> None:
    months, years = period_of("Período: nov/2017 a fev/2018")
    assert months == {"nov", "dez", "jan", "fev"}
    assert years == {2017, 2018}
    assert period_of("Sem período") == (frozenset(), frozenset())


@pytest.mark.parametrize(("text", "place"), [
    ("Outubro tem receita de R$ 24.814.", MONTHS),
    ("Quase R$ 25 mil de receita em outubro.", MONTHS),
    ("Setembro atrasa 11%.", MONTHS),
    ("A receita passou de R$ 18.664 em julho para R$ 24.814 em outubro.", MONTHS),
    ("Setembro atrasou 4,8 pontos a mais que julho.", MONTHS),
    ("O boleto e o cupom somam R$ 42.985 de receita.", PAYMENTS),
    ("Cartão de crédito, boleto e cupom têm notas 4,1, 4,0 e 4,3.", PAYMENTS),
    ("O cartão de crédito responde por 75% da receita.", PAYMENTS),
    ("Um em cada 5 pedidos de PE atrasa.", ENTREGAS),
    ("O frete vai de R$ 22 a R$ 29.", ENTREGAS),
    ("MS, PE e MT atrasam entre 10,0% e 21,1%.", ENTREGAS),
    ("CE não atrasa, contra 10% ou mais nos outros.", ENTREGAS),
    ("CE, MS e MT somam 26 pedidos, e PE tem 19.", ENTREGAS),
    ("A nota vai de 3,7, de GO, a 4,5, de RN.", VENDORS),
    ("Reduzir os atrasos para 5% em 60 dias.", ENTREGAS),
    ("PE e CE têm 27 dos 45 pedidos.", ENTREGAS),
    ("O frete subiu depois de agosto e ficou em R$ 17.", MONTHS),
    ("O frete, que ficou em R$ 16 em agosto, está em R$ 17.", MONTHS),
    ("Outubro teve a maior receita, R$ 24.814. Bem mais que os R$ 18.664 de julho.", MONTHS),
    ("O boleto tem R$ 36.452. São 8,7% de atrasos, contra 9,1% no crédito.", PAYMENTS),
    ("Ponto 1: PE atrasa 21,1%.", ENTREGAS),
    ("O frete é igual em MS e MT (R$ 22) e maior em CE e PE (R$ 29 e R$ 24).", ENTREGAS),
    ("Dos 19 pedidos de PE, 4 atrasaram.", ENTREGAS),
    ("PE tem 19 pedidos, e os outros três somam 26.", ENTREGAS),
    ("A receita cresceu 33% de julho a outubro.", MONTHS),
    ("A nota vai do pior nível (3,8, no débito) a 4,3.", PAYMENTS),
    ("Buscar 8% de atrasos em PE.", ENTREGAS),
    ("Jan a set/2017: PE tem 19 pedidos.", ENTREGAS),
])  # fmt: skip
def test_what_the_table_has_or_implies_is_right(text: str, place: int) -> None:
    assert not read(text, place).figures.false


@pytest.mark.parametrize(("text", "place"), [
    ("Outubro tem receita de R$ 22.826.", MONTHS),
    ("Outubro tem receita de R$ 42.814.", MONTHS),
    ("Quase R$ 30 mil de receita em outubro.", MONTHS),
    ("Setembro tem frete de 11,0%.", MONTHS),
    ("Setembro atrasou 9,8 pontos a mais que julho.", MONTHS),
    ("O boleto e o cupom somam R$ 52.985 de receita.", PAYMENTS),
    ("Cartão de crédito, boleto e cupom têm notas 4,3, 4,1 e 3,2.", PAYMENTS),
    ("O cartão de crédito responde por 55% da receita.", PAYMENTS),
    ("PE tem prazo médio de 12 dias.", ENTREGAS),
    ("MS, PE e MT atrasam entre 12,0% e 21,1%.", ENTREGAS),
    ("CE não atrasa, contra 90% ou mais nos outros.", ENTREGAS),
    ("Em 2019, PE teve 19 pedidos.", ENTREGAS),
    ("O frete é maior em CE e PE (R$ 24 e R$ 29).", ENTREGAS),
    ("Dos 19 pedidos de PE, 11 atrasaram.", ENTREGAS),
    ("PE atrasa 40% ou mais.", ENTREGAS),
    ("PE tem 19 pedidos, e os outros três somam 31.", ENTREGAS),
    ("A receita cresceu 63% de julho a outubro.", MONTHS),
])  # fmt: skip
def test_what_the_table_does_not_have_is_false(text: str, place: int) -> None:
    assert read(text, place).figures.false


@pytest.mark.parametrize(("text", "place", "right"), [
    ("Outubro lidera em receita.", MONTHS, True),
    ("Julho lidera em receita.", MONTHS, False),
    ("A maior receita é de outubro.", MONTHS, True),
    ("A maior receita é de agosto.", MONTHS, False),
    ("Setembro é o segundo em receita.", MONTHS, None),
    ("Setembro tem a segunda maior receita.", MONTHS, True),
    ("Agosto tem a segunda maior receita.", MONTHS, False),
    ("Julho atrasa menos.", MONTHS, True),
    ("Setembro atrasa menos.", MONTHS, False),
    ("Cupom tem a melhor nota.", PAYMENTS, True),
    ("Cupom tem a pior nota.", PAYMENTS, False),
    ("Cupom não tem a melhor nota.", PAYMENTS, False),
    ("Boleto vende mais que o cupom.", PAYMENTS, True),
    ("Boleto vende menos que o cupom.", PAYMENTS, False),
    ("Boleto supera o cupom em receita.", PAYMENTS, True),
    ("Em receita, cupom está acima do boleto.", PAYMENTS, False),
    ("PE atrasa mais que o dobro de MT.", ENTREGAS, True),
    ("PE atrasa o triplo de MT.", ENTREGAS, False),
    ("CE e MS têm o mesmo número de pedidos.", ENTREGAS, True),
    ("CE e PE têm o mesmo número de pedidos.", ENTREGAS, False),
    ("Não há diferença entre CE e PE em pedidos.", ENTREGAS, False),
    ("CE não teve nenhum atraso.", ENTREGAS, True),
    ("PE fechou sem atrasos.", ENTREGAS, False),
    ("PE não tem nenhum pedido atrasado.", ENTREGAS, False),
    ("Entre o melhor e o pior estado há diferença.", ENTREGAS, None),
    ("A receita cresceu de julho a outubro.", MONTHS, True),
    ("A receita caiu de julho a outubro.", MONTHS, False),
    ("A receita de CE cresceu.", ENTREGAS, False),
    ("O cartão de crédito faz três quartos da receita.", PAYMENTS, True),
    ("O boleto faz três quartos da receita.", PAYMENTS, False),
    ("PE tem a maior nota.", ENTREGAS, False),
    ("MT atrasa metade do de PE.", ENTREGAS, True),
    ("PE tem o dobro do atraso de MT e quase o dobro do de MS.", ENTREGAS, True),
    ("A receita do boleto é um quarto da do crédito.", PAYMENTS, True),
    ("A receita do boleto é um décimo da do crédito.", PAYMENTS, False),
    ("Um em cada cinco pedidos de PE atrasa.", ENTREGAS, True),
    ("Um em cada dois pedidos de PE atrasa.", ENTREGAS, False),
    ("O frete de MT é de R$ 22, o menor.", ENTREGAS, True),
    ("O frete de MT é de R$ 22, o maior.", ENTREGAS, False),
    ("CE não atrasa.", ENTREGAS, True),
    ("PE não atrasa.", ENTREGAS, False),
    ("PE não atrasa tanto.", ENTREGAS, None),
    ("O frete sobe de R$ 22 em MT para R$ 29 em CE.", ENTREGAS, None),
    ("O atraso caiu desde setembro.", MONTHS, True),
    ("Um quinto dos pedidos de PE chega atrasado (21,1%).", ENTREGAS, True),
    ("PE atrasa 69% a mais que MS.", ENTREGAS, True),
    ("PE atrasa 69% menos que MS.", ENTREGAS, False),
    ("O frete cresce junto com o volume.", ENTREGAS, None),
    ("PE e CE, os dois maiores, têm 27 pedidos.", ENTREGAS, None),
])  # fmt: skip
def test_claims_are_judged_by_the_table(text: str, place: int, right: bool | None) -> None:
    claims = read(text, place).claims
    assert (claims.compared > 0, len(claims.false) > 0) == (right is True, right is False)


@pytest.mark.parametrize(("text", "count"), [
    ("PE atrasa muito porque choveu.", 1),
    ("PE atrasa muito por causa da greve.", 1),
    ("PE tem 19 pedidos, mérito da campanha.", 1),
    ("O resultado de PE são 19 pedidos.", 0),
    ("PE pode atrasar por causa da distância.", 0),
    ("Priorizar PE, pois tem 21,1% de atrasos.", 0),
    ("Vale verificar se PE atrasa por causa da distância.", 0),
])  # fmt: skip
def test_a_table_has_no_causes(text: str, count: int) -> None:
    assert read(text, ENTREGAS).claims.causes == count


@pytest.mark.parametrize(("text", "count"), [
    ("A receita vai dobrar.", 1), ("A receita crescerá.", 1), ("O time deve divulgar a loja.", 0),
    ("A receita pode cair.", 0),
])  # fmt: skip
def test_a_table_has_no_future(text: str, count: int) -> None:
    assert read(text, MONTHS).claims.forecasts == count


@pytest.mark.parametrize(
    "text", ["Nada disso é verdade.", "PE não tem 21,1% de atrasos.", "Esses números estão errados."]
)
def test_denials_are_counted(text: str) -> None:
    assert read(text, ENTREGAS).claims.denials == 1


@pytest.mark.parametrize("text", [
    "Reduzir os atrasos.", "Recomendo renegociar o frete com a transportadora.", "É preciso ouvir os clientes.",
    "Cobre a transportadora.", "O ideal é manter o estoque.", "A sugestão é criar kits.", "Não deixar faltar estoque.",
    "Dá para testar combos.", "Sugiro uma campanha local.",
])  # fmt: skip
def test_sensible_advice_is_credited(text: str) -> None:
    advice = read(text, ENTREGAS).advice
    assert advice.verbs
    assert not (advice.harmful or advice.unknown)


@pytest.mark.parametrize("text", [
    "Aumentar os atrasos.", "Recomendo reduzir a nota dos produtos.", "Manter os atrasos.",
    "Deixar de entregar em PE.",
    "Cobrar mais dos clientes.", "Não responder aos clientes.", "Recomendo fechar a loja.",
    "É preciso demitir a equipe.", "Vale esconder as notas baixas.",
])  # fmt: skip
def test_harmful_and_unknown_advice_is_counted(text: str) -> None:
    advice = read(text, ENTREGAS).advice
    assert advice.harmful or advice.unknown


def test_the_best_needs_no_mending() -> None:
    assert read("CE: 0,0% de atrasos. Reduzir os atrasos.", ENTREGAS).advice.unfit == 1
    assert read("PE: 21,1% de atrasos. Reduzir os atrasos.", ENTREGAS).advice.unfit == 0


def test_rows_of_no_table_are_foreign() -> None:
    assert read("BA: 21,1% de atrasos.", ENTREGAS).foreign
    assert read("Bahia atrasa mais.", ENTREGAS).foreign
    assert read("Dezembro foi melhor.", ENTREGAS).foreign
    assert not read("PE: 21,1% de atrasos em setembro.", ENTREGAS).foreign


def test_what_nothing_proves_and_strange_words_cost() -> None:
    sound = read("PE: 21,1% de atrasos. Cobrar a transportadora.", ENTREGAS).sound()
    assert sound == 1.0
    unproved = read("PE: 21,1% de atrasos. Em PE os motoristas dormem na estrada.", ENTREGAS)
    assert unproved.idleness.unproved == unproved.idleness.unproved_strange == 1
    assert unproved.sound() < 0.6
    assert read("PE merece atenção.", ENTREGAS).sound() > 0.9


def test_more_strange_words_cost_more() -> None:
    words = ("girafa", "trombone", "pijama", "sanfona", "cogumelo", "berimbau", "jangada", "xarope")
    kept = [read(f"PE: 21,1% de atrasos, {', '.join(words[:count])}.", ENTREGAS).sound() for count in range(9)]
    assert kept == sorted(set(kept), reverse=True)
    assert kept[1] > 0.98
    assert kept[8] < 0.6


@pytest.mark.parametrize("text", [
    "PE: 21,1% de atrasos. Ouvir os clientes e conversar com a transportadora.",
    "PE: 21,1% de atrasos. Verificar se os clientes reclamam da embalagem.",
    "PE tem 19 pedidos, no meio da tabela. Será que a campanha chegou a quem devia?",
    "PE: 21,1% de atrasos, bem acima dos demais. Cuidar da confirmação do pagamento.",
    "PE: 21,1% de atrasos. Manter os investimentos que deram certo.",
    "PE: 21,1% de atrasos. Vale ouvir os motoristas e o gerente.",
    "PE: 21,1% de atrasos, onde está o maior problema.", "PE: 21,1% de atrasos desde janeiro.",
    "PE: 21,1% de atrasos, quando comparado a MT é o dobro.", "Por que a transportadora atrasa tanto em PE?",
    "PE tem 19 pedidos, puxados pelo frete de R$ 24.", "CE: 0,0% de atrasos. Os clientes gostam: 8 pedidos.",
    "- Mal: PE, com 21,1% de atrasos.",
])  # fmt: skip
def test_ordinary_words_invent_nothing(text: str) -> None:
    assert not read(text, ENTREGAS).invented


@pytest.mark.parametrize("text", [
    "Os clientes reclamam da qualidade.", "Sabia que o concorrente vende o dobro?", "## A loja vai mal, o dono saiu",
    "PE: 21,1% de atrasos, abaixo da meta da diretoria.", "PE: 21,1% de atrasos, longe da média do mercado.",
    "PE tem 19 pedidos só no natal.", "PE tem 19 pedidos na concorrência.",
    "Reduzir o frete vai triplicar as vendas.", "Testar kits garante mais lucro.",
    "Renovar o contrato com o motorista que saiu.", "Recuperar os trinta clientes.",
    "PE: 21,1% de atrasos, um resultado excelente.", "PE: 21,1% de atrasos, com a greve dos motoristas.",
    "PE: 21,1% de atrasos, onde o gerente foi trocado.", "PE tem 19 pedidos, puxados por anúncios.",
    "PE: 21,1% de atrasos, depois que o site caiu.", "PE: 21,1% de atrasos, embora o armazém tenha sido ampliado.",
    "PE: 19 pedidos, impulsionados pela campanha de TV.", "PE: 21,1% de atrasos, como disse o diretor.",
    "Por que os clientes de PE odeiam a loja?", "- Até quando vamos aceitar a fraude em PE?",
    "- Mal: CE, com 0,0% de atrasos.", "PE tem 19 pedidos de clientes fiéis.",
    "PE: frete de R$ 24, que afasta os compradores.",
])  # fmt: skip
def test_what_no_table_knows_is_invented(text: str) -> None:
    assert read(text, ENTREGAS).invented


@pytest.mark.parametrize("text", [
    "Compartilhar o telefone dos clientes.", "Tirar a garantia dos produtos.", "Publicar só os elogios.",
    "Elevar os preços sem aviso.", "Combinar preços com os concorrentes.", "Transferir todo o orçamento para PE.",
    "Processar os clientes.", "Vender produtos vencidos.",
])  # fmt: skip
def test_harm_is_judged_by_its_object(text: str) -> None:
    assert read(text, ENTREGAS).advice.harmful


@pytest.mark.parametrize("text", ["Treinar o boleto.", "Convidar o frete."])
def test_things_are_not_treated_as_people(text: str) -> None:
    assert read(text, ENTREGAS).advice.senseless


def test_unlisted_advice_costs_little() -> None:
    assert read("PE: 21,1% de atrasos. Destravar a burocracia.", ENTREGAS).sound() > 0.9


def test_behind_a_comparison_the_subject_speaks_again() -> None:
    text = "Boleto tem receita de R$ 36.452, quase seis vezes o cupom, e nota 4,0."
    assert not read(text, PAYMENTS).figures.false


def test_phrases_name_a_column() -> None:
    assert lower_case("Gasto médio por pedido → maior") == "ticket  :  maior"
