from functools import partial

from benchmarks.mutants.completions import SEED as COUNTED
from benchmarks.mutants.completions import other_completions
from benchmarks.mutants.drawing import SEED, draw
from schemas.documents import Rollout
from schemas.tables.rollout_tables import read_rollouts
from tasks.audit.stage import shipped_files
from tasks.commerce.registry import score_rollout


def answer(completion: str) -> Rollout:
    reference = {"polarity": "positive", "score": 5}
    return Rollout(prompt_id="p", task="sentiment", prompt="Gostei.", completion=completion, reference=reference)


def test_what_alone_takes_a_step_is_chosen_before_what_many_take() -> None:
    usual = [answer('{"polarity":"positive","score":5}') for _ in range(30)]
    rare = answer('{"polarity":"positive","score":5,}')
    assert rare in draw([*usual, rare], partial(score_rollout, databases=None), most=3)


def test_no_more_are_chosen_than_wanted_and_fewer_than_are_there_in_their_order() -> None:
    made = [answer(f'{{"polarity":"positive","score":{score}}}') for score in range(1, 6)]
    score = partial(score_rollout, databases=None)
    assert draw(made, score, most=10) == made
    assert len(draw(made, score, most=2)) == 2


def test_the_seed_is_not_that_of_the_completions_that_count() -> None:
    assert {SEED}.isdisjoint({COUNTED})


def test_queries_are_drawn_of_the_shipped_prompts() -> None:
    shipped = read_rollouts(shipped_files().rollouts)
    asked = {each.prompt_id for each in shipped if each.task == "sql_qa"}
    assert {each.prompt_id for each in other_completions("sql_qa", shipped, SEED, 20)} <= asked
