from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from schemas.config.config import AuditConfig
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.audit import statistics
from tasks.audit.mutants import MUTANTS, MutantReport, run_mutants
from tasks.audit.mutations.breaking import Mutant, edit, forget, replace_attribute, replace_entry, wrap
from tasks.audit.reward import RewardFunction
from tasks.audit.sheet import ScoredSheet
from tasks.audit.stage import read_files, shipped_files
from tasks.commerce.push import scorer as push
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.text.json_fields import is_boolean, is_stars
from tasks.commerce.text.parser import FORM, ParsedObject, Reading
from tests.tasks.audit.test_probes import rollout

CONFIG = AuditConfig(require_human=False)
RECORDED = "probe:recorded_scores"
HISTORIC = (
    "no decimal comma",
    "boolean as integer",
    "insights: scored as push",
    "push: no formal penalty",
    "push: no length cliff",
    "binary",
    "extraction: scale of 2",
    "insights: narrow word list",
)
HARMLESS = Mutant("nothing", "Nothing is broken.", ("sentiment",), ())

Files = tuple[ScoredSheet, RewardFunction]


@pytest.fixture(scope="module")
def files() -> Files:
    return read_files(shipped_files(), CONFIG, "grounded")


def only(sheet: ScoredSheet, *tasks: str) -> ScoredSheet:
    return replace(sheet, items=tuple(item for item in sheet.items if item.rollout.task in tasks), unscored=())


def of(name: str) -> Mutant:
    return next(mutant for mutant in MUTANTS if mutant.name == name)


def test_mutants_are_many_and_named_apart() -> None:
    assert len(MUTANTS) >= 40
    assert len({mutant.name for mutant in MUTANTS}) == len({mutant.broken for mutant in MUTANTS}) == len(MUTANTS)
    assert {task for mutant in MUTANTS for task in mutant.tasks} == set(TASK_NAMES)
    assert {mutant.name for mutant in MUTANTS} >= set(HISTORIC)


@pytest.mark.integration
def test_the_audit_catches_them(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    # A hundred audits: what is caught does not hang on the third decimal of an interval.
    monkeypatch.setattr(statistics, "RESAMPLES", 1000)
    report = run_mutants(*files, CONFIG)
    assert [result.mutant for result in report.results] == list(MUTANTS)
    assert report.share_caught == 1.0, [mutant.name for mutant in report.missed]
    # Recorded scores notice any change; what says that it is a bad one are the other checks.
    unsaid = {result.mutant.name for result in report.results if not set(result.checks) - {RECORDED}}
    assert len(unsaid) <= 0.05 * len(report.results), unsaid
    assert not unsaid & set(HISTORIC)
    for result in report.results:
        assert {objection.task for objection in result.objections} <= set(result.mutant.tasks)


def test_a_result_says_which_checks_object(files: Files) -> None:
    sheet, score = files
    report = run_mutants(only(sheet, "push"), score, CONFIG, [of("push: no formal penalty"), of("push: length only")])
    formal, length = report.results
    assert formal.checks == ("probe:formal", RECORDED)
    assert {"rho", "rho_low", "probe:refusal"} <= set(length.checks)
    assert len(length.checks) == len(set(length.checks))
    assert report.share_caught == 1.0


def test_what_is_not_broken_is_not_caught(files: Files) -> None:
    sheet, score = files
    report = run_mutants(only(sheet, "sentiment"), score, CONFIG, [HARMLESS, of("sentiment: contradiction is free")])
    assert report.missed == (HARMLESS,)
    assert report.share_caught == 0.5
    assert report.results[0].checks == ()


def test_a_mutant_is_not_known_by_its_name(files: Files) -> None:
    sheet, score = files
    nameless = replace(of("sentiment: contradiction is free"), name="nothing")
    named = replace(HARMLESS, name="sentiment: contradiction is free")
    report = run_mutants(only(sheet, "sentiment"), score, CONFIG, [nameless, named])
    assert [result.caught for result in report.results] == [True, False]


def test_progress_tells_of_each_mutant(files: Files) -> None:
    sheet, score = files
    reported: list[tuple[int, int, str]] = []
    run_mutants(only(sheet, "sentiment"), score, CONFIG, [HARMLESS], lambda *step: reported.append(step))
    assert reported == [(0, 1, "nothing"), (1, 1, "mutants audited")]


def test_rewards_that_do_not_pass_are_refused(files: Files) -> None:
    sheet, score = files
    strict = CONFIG.model_copy(update={"min_rho": 1.0})
    with pytest.raises(InputError, match=r"do not pass the audit as they are \(sentiment: rho .+\)"):
        run_mutants(only(sheet, "sentiment"), score, strict, [HARMLESS])


def test_a_sheet_without_a_task_is_refused(files: Files) -> None:
    sheet, score = files
    with pytest.raises(InputError, match="the sheet has no completion of push, sentiment"):
        run_mutants(only(sheet, "churn"), score, CONFIG, [HARMLESS, of("push: length only")])


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_everything_is_mended_after_a_mutant(mutant: Mutant, files: Files) -> None:
    sheet, score = files
    rollouts = [item.rollout for item in sheet.items if item.rollout.task in mutant.tasks][::9]
    before = [score(one) for one in rollouts]
    with pytest.raises(KeyboardInterrupt), mutant.planted():
        for one in rollouts:
            score(one)
        raise KeyboardInterrupt
    assert [score(one) for one in rollouts] == before


def test_an_edit_is_seen_by_whoever_holds_the_function() -> None:
    held, code = is_boolean, is_boolean.__code__
    with Mutant("m", "b", (), (edit("text.json_fields:is_boolean", ("value is False", "value == 'no'")),)).planted():
        assert held("no")
        assert not held(False)
    assert held(False)
    assert not held("no")
    assert is_boolean.__code__ is code


def test_an_edit_reaches_properties_and_kept_functions() -> None:
    kept = "extraction.complaints:same_complaint"
    changes = ("return float(not wanted", "return 0.5 + float(not wanted")
    clean = edit("text.parser:ParsedObject.cleanliness", ("float(self.value is not None)", "0.25"))
    with Mutant("m", "b", (), (edit(kept, changes), clean)).planted():
        from tasks.commerce.extraction.complaints import same_complaint

        assert same_complaint("", "") == 1.5
        assert ParsedObject({}, frozenset(), 2, 0).cleanliness == 0.25
    assert same_complaint("", "") == 1.0
    assert ParsedObject({}, frozenset(), 2, 0).cleanliness == 1.0


@pytest.mark.parametrize("words", ["no such words", "value"])
def test_an_edit_that_has_no_place_is_an_error(words: str) -> None:
    with (
        pytest.raises(LookupError, match=f"text.json_fields:is_stars has not `{words}` once"),
        Mutant("m", "b", (), (edit("text.json_fields:is_stars", (words, "True")),)).planted(),
    ):
        pass
    assert is_stars(3)


def test_what_was_planted_is_mended_when_the_next_plant_fails() -> None:
    calls, form = push._CALLS, dict(FORM)
    plants = (
        replace_attribute(push, "_CALLS", lambda _: frozenset()),
        replace_entry(FORM, Reading.REPAIRED, lambda _: 1.0),
        edit("text.json_fields:is_stars", ("no such words", "True")),
    )
    with pytest.raises(LookupError), Mutant("m", "b", (), plants).planted():
        pass
    assert push._CALLS is calls
    assert form == FORM


def test_what_a_broken_reward_remembers_is_forgotten() -> None:
    asked = rollout("push", "p", {"product": "livros", "offer": "20% de desconto"})
    completion = asked.model_copy(update={"completion": "20% de desconto em livros! Aproveite no app."})
    whole = score_rollout(completion, None).reward
    broken = edit("push.lines:_content", ("content_words(line)", '["guarda-chuvas"]'))
    with Mutant("m", "b", ("push",), (broken,)).planted():
        assert score_rollout(completion, None).reward < whole
    assert score_rollout(completion, None).reward == whole


def test_a_wrapped_reward_is_the_one_that_is_asked() -> None:
    asked = rollout("sentiment", "p", {"polarity": "neutral", "score": 3})

    @contextmanager
    def planted() -> Iterator[None]:
        around = wrap("sentiment", lambda whole: lambda _, *rest: whole('{"polarity":"neutral","score":3}', *rest))
        with Mutant("m", "b", ("sentiment",), (around,)).planted():
            yield

    before = TASKS["sentiment"].rewards["grounded"]
    with planted():
        assert score_rollout(asked, None).reward == 1.0
    assert score_rollout(asked, None).reward == 0.0
    assert TASKS["sentiment"].rewards["grounded"] is before


def test_forgetting_changes_no_reward(files: Files) -> None:
    sheet, score = files
    before = [score(item.rollout) for item in sheet.items[::25]]
    forget()
    assert [score(item.rollout) for item in sheet.items[::25]] == before


def test_a_report_of_nothing_missed_names_nobody() -> None:
    assert MutantReport(()).missed == ()
