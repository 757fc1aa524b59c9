"""Campaigns of the tests, and every push that the phrases of one can say."""

from collections.abc import Iterator

from tasks.commerce.push.cited.checker import Campaign, PushParts
from tasks.commerce.push.cited.phrases import CampaignPhrases, PushPhrases, suiting
from tasks.commerce.push.inputs import push_prompt

OF_MANY_KINDS = (
    Campaign("coleiras", "20% de desconto"),
    Campaign("fones de ouvido", "15% de desconto até domingo"),
    Campaign("panelas", "leve 3 e pague 2"),
    Campaign("livros técnicos", "frete grátis acima de R$ 99"),
    Campaign("vinhos", "até 10x sem juros"),
    Campaign("caixas de som", "cupom de R$ 30"),
    Campaign("Kit Viagem Luxo", "oferta da semana no app"),
)


def prompt_of(campaign: Campaign) -> str:
    return push_prompt("Crie a notificação.", *campaign, "novos clientes")


def sayable(campaign: Campaign) -> Iterator[PushParts]:
    """Yield all pushes of the phrases that suit a campaign, those with a repeated word and too long ones too."""
    known: CampaignPhrases = suiting(*campaign)
    for opener in ("", *known.own, *known.general):
        for core in known.cores:
            for closer in ("", *known.closers):
                yield PushParts(opener, core, closer)


def all_phrases(phrases: PushPhrases) -> tuple[list[str], list[str], list[str]]:
    """Return the openers, cores and closers of the file."""
    return (
        [text for group in phrases.grupos.values() for text in group.aberturas],
        [core.texto for core in phrases.nucleos],
        [*phrases.fechos.sempre, *phrases.fechos.com_prazo],
    )
