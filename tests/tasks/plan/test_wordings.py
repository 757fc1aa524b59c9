"""A prompt in another shipped wording asks the same; what is not shipped stays."""

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.text.lexicons import read_wording
from tasks.plan.draws import choose_wordings, reworded
from tests.tasks.curate.prompt_rows import prompt_row


def ask(task: TaskName, instruction: str) -> str:
    if "{question}" in instruction:
        return instruction.replace("{question}", "Quantos pedidos?")
    return f"{instruction}\nProduto: mala\nOferta: 10% de desconto"


@pytest.mark.parametrize("task", TASK_NAMES)
def test_each_wording_becomes_each_other(task: TaskName) -> None:
    instructions = read_wording(task).instructions
    for one in instructions:
        found = reworded(prompt_row(task, ask(task, one)), instructions[3])
        assert found is not None
        assert found.prompt == ask(task, instructions[3])


def test_a_prompt_of_a_shop_keeps_its_words() -> None:
    assert reworded(prompt_row("push", "Anuncie.\nProduto: mala"), "Crie a notificação.") is None


def test_the_wording_that_earns_most_is_chosen() -> None:
    first, second, *_ = read_wording("push").instructions
    rows = [prompt_row("push", ask("push", first)), prompt_row("push", f"Anuncie.\n{first}")]
    chosen = choose_wordings(rows, lambda asked: [float(each.prompt.startswith(second)) for each in asked])
    assert chosen == {"push": second}
