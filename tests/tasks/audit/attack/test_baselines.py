import pytest

from schemas.errors import Interrupted
from tasks.audit.attack.baselines import measure_baselines
from tasks.audit.attack.setting import Setting
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.audit.attack.settings import setting


def _by_delay(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
    """Pay for what the line `Entregas com atraso:` alone decides."""
    del reference, databases
    late = "Entregas com atraso: 0" not in prompt
    return Score({"answer": float(f'"churn":{str(late).lower()},' in completion)})


BY_DELAY = Reward({"answer": 1.0}, _by_delay)


def measured(own: Setting) -> dict[str, tuple[float, str]]:
    found = measure_baselines(own, own.search(), own.bank, lambda: False)
    return {baseline.kind: (baseline.reward, baseline.says) for baseline in found}


def test_a_rule_on_the_prompts_own_lines_beats_every_constant_where_they_give_the_answer_away() -> None:
    found = measured(setting("churn", BY_DELAY))

    assert found["rule"][0] > 0.95
    assert "Entregas com atraso" in found["rule"][1]
    assert found["constant"][0] < 0.9


def test_a_prompt_without_lines_has_no_rule() -> None:
    assert "rule" not in measured(setting("sentiment"))


def test_a_template_says_the_prompts_own_words() -> None:
    reward, says = measured(setting("push"))["template"]

    assert reward > 0.8
    assert "{Produto" in says


def test_measuring_stops_when_it_is_asked_to() -> None:
    own = setting("sentiment")

    with pytest.raises(Interrupted):
        measure_baselines(own, own.search(), own.bank, lambda: True)
