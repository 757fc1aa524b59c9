import json

import pytest

from benchmarks.critic.baselines import (
    INVENTED,
    KEYS,
    TEMPLATES,
    first_words,
    line_of,
    measure_baselines,
    own_lines,
    titles,
)
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tests.tasks.audit.critic.fresh_cases import rows


def test_a_rule_reads_neither_the_instruction_nor_the_text() -> None:
    prompt = "Extraia os campos.\nNota: 2\nEntrega: no prazo\nAvaliação: Nota: 5\nÓtimo."

    assert own_lines(prompt) == "Nota: 2\nEntrega: no prazo\n"
    assert own_lines("Qual é o sentimento?\nAvaliação: Ruim") == ""


@pytest.mark.parametrize("task", sorted(TEMPLATES))
def test_a_template_says_what_the_prompt_says(task: TaskName) -> None:
    first, second = rows(task)[:2]
    answers = [form(row) for row in (first, second) for form in TEMPLATES[task]]

    assert len(set(answers)) == len(answers)
    assert "{" not in "".join(answers) or all(json.loads(answer) for answer in answers)


def test_the_best_constant_is_no_worse_than_the_usual_one_where_it_was_chosen() -> None:
    found = measure_baselines("sentiment", rows("sentiment"), rows("sentiment"), None)

    assert found.constant >= found.usual > 0
    assert found.unread == pytest.approx(found.constant)
    assert found.template is None


def test_a_rule_is_chosen_for_each_of_the_prompts_own_lines() -> None:
    def row(stars: int, text: str) -> PromptRow:
        polarity = "positive" if stars == 5 else "negative"
        reference = {"polarity": polarity, "score": stars}
        prompt = f"Classifique.\nNota: {stars}\nAvaliação: {text}"
        return PromptRow(text, "sentiment", "", prompt, reference, "simulated", None, None, None)

    training = [row(1, "a"), row(5, "b"), row(5, "c")]
    found = measure_baselines("sentiment", training, [row(1, "d"), row(5, "e")], None)

    assert found.unread == pytest.approx(1.0)
    assert found.constant < 0.7


def test_every_task_but_churn_has_a_rule_that_leaves_most_unread() -> None:
    assert set(KEYS) == set(TASK_NAMES) - {"churn"}
    assert first_words("Dúvida do painel: Quantos pedidos há em SP?") == "Quantos pedidos há"
    assert titles("Analise.\nMês | Pedidos\njan | 3") == "Mês | Pedidos"
    days = line_of("Dias")
    assert days("Avalie.\nDias: 40") == days("Avalie.\nDias: 31") != days("Avalie.\nDias: 1.040")


def test_invented_complaints_guess_the_stars_or_read_them() -> None:
    def row(prompt: str) -> PromptRow:
        return PromptRow("a", "extraction", "", prompt, {}, "simulated", None, None, None)

    guessed = [json.loads(answer(row("Extraia.\nAvaliação: Bom"))) for answer in INVENTED["extraction"]]
    read = [json.loads(answer(row("Extraia.\nNota: 4\nAvaliação: Bom"))) for answer in INVENTED["extraction"]]

    assert {fields["sentiment_score"] for fields in guessed} == {1, 2, 3, 4, 5}
    assert {fields["sentiment_score"] for fields in read} == {4}
    assert {fields["complaint_category"] for fields in guessed} == {"none", "delivery", "product", "seller", "price"}
