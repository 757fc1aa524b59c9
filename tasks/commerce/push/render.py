"""Text of a push in phrases: what a customer reads, or why another is sent."""

from tasks.commerce.push.checker import fault_of, fill, read_campaign
from tasks.commerce.push.phrases import suiting
from tasks.commerce.served import Served


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and fill it in; nothing of one with a fault is shown."""
    campaign = read_campaign(prompt)
    if campaign is None:
        return Served(None, False, "o pedido não tem uma linha `Produto: ...` e, abaixo, uma `Oferta: ...`")
    if fault := fault_of(completion, campaign):
        return Served(None, False, fault)
    text = fill(completion, campaign)
    return Served(text, True, None, text)


def serve(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt; a plain core alone, if any may be sent, takes the place of one with a fault."""
    served, campaign = render(completion, prompt), read_campaign(prompt)
    if served.checked or campaign is None:
        return served
    plain = [fill(core, campaign) for core in suiting(*campaign).cores if not fault_of(core, campaign)]
    return Served(min(plain, key=len), False, f"trocada por um texto simples: {served.reason}") if plain else served
