import pytest

from schemas.errors import Interrupted
from tasks.audit.attack.baselines import measure_baselines
from tasks.audit.attack.setting import Setting
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.sql_qa.sandbox import Databases
from tests.tasks.audit.attack.settings import setting


def _by_last_rating(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
    """Pay for what the line `Última nota:` alone decides."""
    del reference, databases
    pleased = "Última nota: 5" in prompt
    return Score({"answer": float(f'"churn":{str(not pleased).lower()},' in completion)})


BY_LAST_RATING = Reward({"answer": 1.0}, _by_last_rating)


def measured(own: Setting) -> dict[str, tuple[float, str]]:
    found = measure_baselines(own, own.search(), own.bank, lambda: False)
    return {baseline.kind: (baseline.reward, baseline.says) for baseline in found}


def test_a_rule_on_the_prompts_own_lines_beats_every_constant_where_they_give_the_answer_away() -> None:
    found = measured(setting("churn", BY_LAST_RATING))

    assert found["rule"][0] > 0.95
    assert "Última nota" in found["rule"][1]
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
