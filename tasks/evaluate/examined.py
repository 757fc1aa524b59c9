"""Conditions that an evaluation examined beside the scores, read back from its files to be examined once more."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from schemas.config.evaluate import BASELINES, OverRungs
from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim
from tasks.evaluate.compare import CHAMPION, read_report, scores_file
from tasks.evaluate.decision import Examined, matched, without_decoding
from tasks.evaluate.evidence import Compare, ScoredBaseline, against_baselines
from tasks.evaluate.forgetting import FollowedOfKind, GeneralOutcome
from tasks.evaluate.ladder import RungStanding
from tasks.evaluate.stats.pairing import read_scores
from tasks.evaluate.stats.statistics import PairedStats
from tasks.evaluate.untold import UntoldPrompts


def read_examined(
    folder: Path, base: Sequence[PairedScore], tuned: Sequence[PairedScore], over_rungs: OverRungs, compare: Compare
) -> Examined:
    """Read what an evaluation examined, and compare once more what it compared.

    Args:
        folder: The evaluation's files.
        base: Its scores of the base.
        tuned: Its scores of the policies of all seeds.
        over_rungs: Its `promote.over_rungs`.
        compare: Compares the second scores with the first.

    Raises:
        InputError: The evaluation is of a version that wrote something else.
    """
    try:
        report = read_report(folder)
        seed = _chosen_seed(report, tuned)
        chosen = [pair for pair in tuned if pair.seed == seed]
        several = len(chosen) < len(tuned)
        champion = read_scores(folder / scores_file(CHAMPION)) if report["champion"] else None
        return Examined(
            claims=_claims(report["claims"], folder, tuned, compare),
            chosen_seed=seed,
            alone=matched(base, chosen, compare) if several else None,
            champion=None if champion is None else matched(champion, chosen, compare),
            ladder=[
                RungStanding(
                    name,
                    rung["description"],
                    rung["draws"],
                    matched(
                        without_decoding(read_scores(folder / scores_file(name))), without_decoding(tuned), compare
                    ),
                )
                for name, rung in report["ladder"].items()
            ],
            over_rungs=over_rungs,
            general=_general(report["general"]),
            untold={task: UntoldPrompts(*found) for task, found in report.get("untold", {}).items()},
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder} is of another version of this program, and what it examined cannot be read "
            f"({type(error).__name__}: {error}); evaluate again with `tucano evaluate`"
        ) from None


def _chosen_seed(report: Mapping[str, Any], tuned: Sequence[PairedScore]) -> int:
    seeds = {pair.seed for pair in tuned}
    # Where there is one, earlier versions wrote none.
    return int(report["chosen_seed"]) if len(seeds) > 1 else seeds.pop()


def _claims(
    known: Mapping[TaskName, Mapping[str, Any]], folder: Path, tuned: Sequence[PairedScore], compare: Compare
) -> dict[TaskName, TaskClaim]:
    says = {
        name: {task: claim["baselines"][name]["says"] for task, claim in known.items() if name in claim["baselines"]}
        for name in BASELINES
    }
    baselines = [
        ScoredBaseline(name, said, read_scores(folder / scores_file(name))) for name, said in says.items() if said
    ]
    against = against_baselines(baselines, tuned, compare)
    return {task: _claim(claim, against.get(task, {})) for task, claim in known.items()}


def _claim(known: Mapping[str, Any], baselines: Mapping[str, AgainstBaseline]) -> TaskClaim:
    claim = partial(TaskClaim, **{name: known[name] for name in ("variety", "base_variety", "min_variety")})
    return claim(baselines=baselines, floors=tuple(Floor(**floor) for floor in known["floors"]))


def _general(known: Mapping[str, Any] | None) -> GeneralOutcome | None:
    if known is None:
        return None
    kinds = {kind: FollowedOfKind(**followed) for kind, followed in known["kinds"].items()}
    return GeneralOutcome(PairedStats(**known["stats"]), known["margin"], known["required"], kinds)
