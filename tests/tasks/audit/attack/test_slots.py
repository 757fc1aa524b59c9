from tasks.audit.attack.slots import as_template, fill, has_slots, slots_of

PUSH = "Escreva.\nProduto: tapetes\nOferta: cupom de R$ 30\nPúblico: clientes do PR"
TABLE = "Analise.\nDia | Pedidos\nsábado | 128\ndomingo | 97"


def test_a_text_becomes_a_template_that_says_another_prompts_values() -> None:
    template = as_template("Cupom de R$ 30 em tapetes, só no app!", PUSH)

    other = PUSH.replace("tapetes", "redes").replace("cupom", "brinde")
    assert template == "{Oferta_inicial} em {Produto}, só no app!"
    assert fill(template, slots_of(other)) == "Brinde de R$ 30 em redes, só no app!"


def test_the_longest_value_is_named_first_and_names_are_not_searched() -> None:
    prompt = "P.\nProduto: capas\nOferta: capas de brinde\nPúblico: Produto"

    assert as_template("capas de brinde e capas", prompt) == "{Oferta} e {Produto}"


def test_cells_of_a_table_are_slots() -> None:
    assert as_template("sábado teve 128 pedidos", TABLE) == "{linha1_1} teve {linha1_2} pedidos"


def test_a_template_does_not_apply_to_a_prompt_without_its_slot() -> None:
    assert fill("{Oferta}!", slots_of(TABLE)) is None
    assert fill('{"score":5}', slots_of(TABLE)) == '{"score":5}'
    assert not has_slots('{"polarity":"positive","score":5}')
