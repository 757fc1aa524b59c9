"""Campaigns of the tests, and every push that the phrases of one can say."""

from collections.abc import Iterator
from typing import Any

from tasks.commerce.push.phrases import CampaignPhrases, suiting
from tasks.commerce.push.prompts import PushInputs
from tasks.commerce.push.scorer import PushCampaign, PushParts
from tests.cases import cases_of

OF_MANY_KINDS = tuple(map(PushCampaign._make, cases_of(__file__)["of_many_kinds"]))


def prompt_of(campaign: PushCampaign) -> str:
    return PushInputs.model_construct(segment="novos clientes", **campaign._asdict()).prompt("Crie a notificação.")


def sayable(campaign: PushCampaign) -> Iterator[PushParts]:
    """Yield all pushes of the phrases that suit a campaign, those with a repeated word and too long ones too."""
    known: CampaignPhrases = suiting(*campaign)
    for opener in ("", *known.own, *known.general):
        for core in known.cores:
            for closer in ("", *known.closers):
                yield PushParts(opener, core, closer)


def all_phrases(phrases: Any) -> tuple[list[str], list[str], list[str]]:
    return (
        [text for group in phrases.grupos.values() for text in group.aberturas],
        [core.texto for core in phrases.nucleos],
        [*phrases.fechos.todas, *phrases.fechos.conhecidas],
    )
