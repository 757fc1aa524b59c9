"""The critic as probes: its corruptions must cost, and its rewrites keep, over the prompts of the audit.

An alteration is judged by its median loss over the prompts to which it applies, at least five of them: one prompt in
whose words an alteration means little decides nothing. On few prompts a median near its limit would fall on either
side by chance, so it must miss the limit by a margin as well. What the critic is known to find today
(`data/audit/critic/open.toml`) is exempt, and named.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Final

from schemas.config.config import AUDIT_FOLDER
from schemas.store.files import read_store
from tasks.audit.critic.alteration import LIMITS, Case, CriticAlteration, Kind, within_limit
from tasks.audit.critic.critic import ALTERATIONS
from tasks.audit.critic.open_failures import open_failures
from tasks.audit.gate import Probe
from tasks.audit.probes.properties import Probed
from tasks.commerce.sql_qa.sandbox import Database

FEWEST: Final = 5
"""Prompts to which an alteration must apply for a median."""
MOST: Final = 16
"""Prompts that are altered: an audit of a long sheet takes no longer."""
CHANCE: Final = 0.05
"""Chance of so many misses, if half of all prompts missed the limit, up to which they are more than chance."""
SEED: Final = 0
NAMED: Final = 4
"""Alterations that a detail names; of the others it says the number."""


@dataclass(frozen=True)
class CriticismProperty:
    """Requirement that alterations of one kind lose as much as they must, or no more than they may."""

    name: str
    kind: Kind

    def probe(self, prompts: Sequence[Probed]) -> Probe | None:
        """Judge each alteration by its median loss; None if none applies to enough prompts."""
        losses: defaultdict[str, list[float]] = defaultdict(list)
        known: dict[str, CriticAlteration] = {}
        for prompt in prompts[:MOST]:
            for name, (alteration, loss) in losses_of(prompt, self.kind).items():
                losses[name].append(loss)
                known[name] = alteration
        judged = {name: median(found) for name, found in losses.items() if len(found) >= FEWEST}
        if not judged:
            return None
        exempt = open_failures(prompts[0].asked.task)
        missed = [name for name in judged if _misses(known[name], losses[name])]
        failed = [name for name in missed if name not in exempt]
        detail = f"{len(judged)} {self.kind}s by their median loss"
        if failed:
            said = [f"{name} loses {judged[name]:.2f}, limit {LIMITS[known[name].severity]:g}" for name in failed]
            detail += f": {_some(said)}"
        still = [name for name in missed if name in exempt]
        return Probe(not failed, f"{detail}{f'; open: {_some(still)}' if still else ''}")


def losses_of(prompt: Probed, kind: Kind) -> Mapping[str, tuple[CriticAlteration, float]]:
    """Return what each alteration of a kind loses of a prompt's right answer; nothing if that earns nothing."""
    asked = prompt.asked
    if not prompt.best > 0:
        return {}
    witness = _witness() if asked.task == "sql_qa" else None
    case = Case(asked.task, prompt.prompt_id, asked.prompt, asked.reference, asked.right, witness)
    found = {}
    for alteration in ALTERATIONS[asked.task]:
        altered = _altered(alteration, case) if alteration.kind == kind else None
        if altered is not None:
            found[alteration.name] = (alteration, 1 - prompt.reward(altered) / prompt.best)
    return found


CRITICISMS: Final = (CriticismProperty("corruptions_cost", "corruption"), CriticismProperty("rewrites_keep", "rewrite"))


def _altered(alteration: CriticAlteration, case: Case) -> str | None:
    # An alteration reads the prompts that the tasks make; a sheet may hold prompts of any form.
    try:
        return alteration.apply(case, SEED)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, StopIteration):
        return None


def _misses(alteration: CriticAlteration, losses: Sequence[float]) -> bool:
    count, missing = len(losses), sum(not within_limit(alteration.severity, loss) for loss in losses)
    return sum(math.comb(count, each) for each in range(missing, count + 1)) <= CHANCE * 2.0**count


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - NAMED
    return ", ".join([*texts[:NAMED], *([f"{more} more"] if more > 0 else [])])


@cache
def _witness() -> Database:
    """Return the shipped store, on which a false query must give other rows than the right one."""
    return Database(read_store(AUDIT_FOLDER / "store"))
