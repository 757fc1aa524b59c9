from tasks.commerce.shortcuts import choose_rule, lines_of

RATINGS = [f"Extraia.\nNota: {stars}\nPedido: {number}\nAvaliação: texto" for number, stars in enumerate([1, 5] * 12)]


def test_a_prompts_own_lines_are_neither_its_instruction_nor_what_somebody_wrote() -> None:
    prompt = "Atenção: extraia.\nNota: 2\nAvaliação: ruim\nNota: 5"

    assert lines_of(prompt) == {"Nota": "2"}


def test_a_rule_gives_each_value_the_answer_that_earns_most_there() -> None:
    earned = [[1.0, 0.0] if "Nota: 1" in prompt else [0.2, 0.9] for prompt in RATINGS]

    rule = choose_rule(RATINGS, ["ruim", "bom"], earned)

    assert rule is not None
    # The number of the order has a value for each prompt, and decides nothing.
    assert rule.names == ("Nota",)
    assert [rule.answer(prompt) for prompt in RATINGS[:2]] == ["ruim", "bom"]
    # Nothing is known of three stars: the answer that earns most of all.
    assert rule.answer("Extraia.\nNota: 3\nAvaliação: texto") == "ruim"


def test_prompts_without_lines_have_no_rule() -> None:
    assert choose_rule(["Quantos pedidos?"] * 4, ["SELECT 1"], [[0.1]] * 4) is None


def test_a_rule_is_chosen_by_prompts_that_did_not_choose_its_constants() -> None:
    prompts = [f"Extraia.\nNota: {stars}\nPedido: {number}" for number, stars in enumerate([1, 1, 5, 5] * 3)]
    earned = [[1.0, 0.0] if "Nota: 1" in prompt else [0.0, 1.0] for prompt in prompts]
    # By chance another answer is right: a rule on the number of the order would have learned it.
    earned[0] = [0.0, 1.0]
    rule = choose_rule(prompts, ["ruim", "bom"], earned)
    assert rule is not None and rule.names == ("Nota",)
