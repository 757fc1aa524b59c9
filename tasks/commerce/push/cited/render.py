"""Text of a push in phrases: what a customer reads, or why another is sent."""

from typing import Final

from tasks.commerce.push.cited.checker import LONGEST, PushFault, fault_of, fill, read_campaign
from tasks.commerce.push.cited.phrases import suiting
from tasks.commerce.served import Served

WRONG: Final = {
    PushFault.NAME: "o produto ou a oferta tem o que nome não tem: chaves, marcação, link ou fim de frase",
    PushFault.FORM: "não é abertura, núcleo e fecho das frases conferidas",
    PushFault.OPENER: "a abertura é de outro grupo de produtos ou repete uma palavra",
    PushFault.CORE: "o núcleo não combina com a oferta",
    PushFault.CLOSER: "o fecho pede uma oferta com prazo ou repete uma palavra",
    PushFault.REPEATED: "uma palavra se repete",
    PushFault.LONG: f"tem mais de {LONGEST} caracteres",
}


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and fill it in; nothing of one with a fault is shown."""
    campaign = read_campaign(prompt)
    if campaign is None:
        return Served(None, False, "o pedido não tem uma linha `Produto: ...` e, abaixo, uma `Oferta: ...`")
    if fault := fault_of(completion, campaign):
        return Served(None, False, WRONG[fault])
    text = fill(completion, campaign)
    return Served(text, True, None, text)


def serve(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt; a plain core alone, if any may be sent, takes the place of one with a fault."""
    served, campaign = render(completion, prompt), read_campaign(prompt)
    if served.checked or campaign is None:
        return served
    plain = [fill(core, campaign) for core in suiting(*campaign).cores if not fault_of(core, campaign)]
    return Served(min(plain, key=len), False, f"trocada por um texto simples: {served.reason}") if plain else served
