"""Churn: risk that a customer does not buy again, and the lines of the profile that say so."""

import json
import random
from collections.abc import Iterator
from itertools import product
from math import inf
from typing import Any, Final

from tasks.commerce.churn.profile import MOST, OTHER, CustomerProfile, Direction, profile_of, read_profile, said_by
from tasks.commerce.churn.prompts import ChurnInputs
from tasks.commerce.churn.scorer import EVEN, REWARD, V42_REWARD, serve
from tasks.commerce.churn.truth import metric
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.evidence.automaton import automaton
from tasks.commerce.grammar import BOOLEAN, FAULTS, SHARE, literals, object_schema, text
from tasks.commerce.reward import Reference
from tasks.commerce.served import written

LONGEST_REASONING: Final = 500
_RISKS: Final = ((40, 0.9), (15, 0.8), (0, 0.7), (-inf, 0.6))
"""Risk of an outcome for which the profile's lines speak by so much more than against it."""


def answer(reference: Reference) -> str:
    """Return the outcome with the lines that explain it best; without a reason where the reference knows no profile."""
    profile = profile_of(reference.get("profile") or {})
    own: Direction = "sai" if reference.get("churn") else "fica"
    lead = profile.weight(profile.pointing[own]) - profile.weight(profile.pointing[OTHER[own]])
    risk = next(risk for least, risk in _RISKS if lead >= least)
    reasons = [
        {"campo": name, "valor": profile.texts[name], "aponta": profile.bands[name].aponta}
        for name in profile.explaining(own)
    ]
    return _written(risk if own == "sai" else round(1 - risk, 1), reasons)


def _written(risk: float, reasons: list[dict[str, Any]]) -> str:
    return written({"risk_score": risk, "churn": risk > EVEN, "reasons": reasons})


def spoil(right: str, generator: random.Random) -> str:
    """Turn the answer around and leave a reason out, each at times; a grammar lets no reason be false."""
    fields = json.loads(right)
    risk, reasons = fields["risk_score"], fields["reasons"]
    if generator.random() < FAULTS.churn.wrong_answer:
        risk = round(1 - risk, 1)
    if len(reasons) > 1 and generator.random() < FAULTS.churn.left_out:
        del reasons[generator.randrange(len(reasons))]
    return _written(risk, reasons)


def reasons_grammar(profile: CustomerProfile) -> str:
    """Return the grammar of an answer on a profile; where no value points any way, it keeps the form alone.

    The first reason points as the answer does, if any line of the profile does, and no line or theme comes twice.
    """
    ways = [(name, band.aponta) for name, band in profile.bands.items() if band.aponta]
    cited = ways or list(product(profile.texts, OTHER))

    def moves(said: str | frozenset[int]) -> Iterator[tuple[str, str | frozenset[int] | None]]:
        if said == "start":
            yield r'"{\"risk_score\":0." /[1-4]/ ",\"churn\":false,\"reasons\":["', "fica"
            yield r'"{\"risk_score\":0." /[6-9]/ ",\"churn\":true,\"reasons\":["', "sai"
        elif isinstance(said, str):
            own = [place for place, (_, way) in enumerate(cited) if way == said]
            yield from ((f"cited_{place}", frozenset((place,))) for place in own or range(len(cited)))
        else:
            yield '"]}"', None
            keys = {key for place in said for key in said_by(*cited[place])}
            free = [place for place, each in enumerate(cited) if said and keys.isdisjoint(said_by(*each))]
            # Nothing may follow the last one, as nothing was said.
            is_last = len(said) + 1 == MOST
            yield from ((f'"," cited_{place}', frozenset() if is_last else said | {place}) for place in free)

    reasons = [
        f'cited_{place}: "{{\\"campo\\":" {literals([name])} ",\\"valor\\":" {literals([profile.texts[name]])} '
        f'",\\"aponta\\":" {literals([way])} "}}"'
        for place, (name, way) in enumerate(cited)
    ]
    return "\n".join([automaton("start", moves), *reasons])


TASK: Final = CommerceTask(
    name="churn",
    description=described(__doc__),
    inputs=ChurnInputs,
    answer=answer,
    rewards={"grounded": REWARD, "v4.2": V42_REWARD},
    metric=metric,
    answer_metrics=("accuracy", "in_form", "reasons_true", "reasons_for_answer", "no_repetition", "all_kept"),
    content=frozenset({"churn", "risk"}),
    faults=spoil,
    answers_in_json=True,
    serve=lambda completion, prompt, _: serve(completion, prompt),
    schema=object_schema({"risk_score": SHARE, "churn": BOOLEAN, "reasoning": text(LONGEST_REASONING, empty=True)}),
    prompt_grammar=lambda prompt: reasons_grammar(known) if (known := read_profile(prompt)) else "",
)
