from pathlib import Path

import pytest

from benchmarks.mutants.planting import importers, needs_new_store
from benchmarks.mutants.sources import Mutant, all_mutants
from benchmarks.mutants.trial import try_mutant, write_completions
from schemas.documents import Rollout
from schemas.tables.rollout_tables import read_rollouts
from tasks.audit.stage import shipped_files
from tasks.commerce.registry import score_rollout

pytestmark = pytest.mark.integration

SCORER = "tasks.commerce.sentiment.scorer"


@pytest.fixture(scope="module")
def completions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mutants") / "completions.jsonl"
    write_completions(path, [each for each in read_rollouts(shipped_files().rollouts) if each.task == "sentiment"])
    return path


def mutant(operator: str, words: str, after: str = "") -> Mutant:
    found = (each for each in all_mutants(["sentiment"]) if each.module == SCORER and each.operator == operator)
    return next(each for each in found if words in each.change and after in each.change.rpartition(" -> ")[2])


def test_a_bug_is_caught_and_the_reward_stays_as_it_was(completions: Path) -> None:
    rollout = Rollout(
        prompt_id="p",
        task="sentiment",
        prompt="p",
        completion='{"polarity":"positive","score":5}',
        reference={"polarity": "positive", "score": 5},
    )
    before = score_rollout(rollout, None)
    outcome = try_mutant(mutant("NumberReplacer", "(1.0, 0.2, 0.0)", "0.0, 0.2, 0.0"), completions)
    assert outcome.kind == "caught"
    assert outcome.caught_by.startswith("sentiment: probe:")
    assert outcome.change > 0.05
    assert score_rollout(rollout, None) == before


def test_a_mutant_of_another_specification_changes_nothing(completions: Path) -> None:
    dropped = (each for each in all_mutants(["sentiment"]) if each.module == SCORER and each.operator == "DroppedItem")
    assert try_mutant(next(each for each in dropped if '"v4.2"' not in each.source), completions).kind == "unchanged"


def test_a_module_that_cannot_be_imported_is_no_mutant(completions: Path) -> None:
    dropped = (each for each in all_mutants(["sentiment"]) if each.module == SCORER and each.operator == "DroppedItem")
    assert try_mutant(next(each for each in dropped if '"grounded"' not in each.source), completions).kind == "invalid"


def test_importers_come_after_what_they_import() -> None:
    found = importers("tasks.commerce.text.parser")
    assert found[0] == "tasks.commerce.text.parser"
    assert SCORER in found
    assert "tasks.commerce.push.scorer" not in found


def test_only_mutants_of_the_sandbox_need_new_copies() -> None:
    assert needs_new_store(Mutant("tasks.commerce.sql_qa.store_copies", "NumberReplacer", 0, 1))
    assert not needs_new_store(Mutant("tasks.commerce.sql_qa.results", "NumberReplacer", 0, 1))
