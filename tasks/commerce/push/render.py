"""Text of a push in phrases: what a customer reads, or why another is sent, and the V4.2 report's reward of it."""

from typing import Final

from tasks.commerce.push.phrases import suiting
from tasks.commerce.push.scorer import LONGEST, fault_of, fill, graphemes, read_campaign
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.served import Served
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import FUNCTION_WORDS, Phrases, fold, ramp, words

DATA_FILES: Final = (
    "data/lexicons/formal_phrases.txt",
    "data/lexicons/generic_pushes.txt",
    "data/lexicons/portuguese_words.txt",
)


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


WEIGHTS: Final = {"length": 0.50, "portuguese": 0.30, "creativity": 0.20, "formal": -0.20}
HOPELESS: Final = 200  # Graphemes.
ENOUGH_MARKERS, ENOUGH_CONTENT = 4, 5
_FORMAL: Final = Phrases("formal_phrases")
_GENERIC: Final = tuple(fold(phrase) for phrase in read_lexicon("generic_pushes"))
_PORTUGUESE: Final = frozenset(fold(word) for word in read_lexicon("portuguese_words")) - {"a", "e"}
_ACCENTS: Final = frozenset("áàâãéêíóôõúç")


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score what a push becomes filled in by the V4.2 report, continuous where a part can be; nothing if it is refused.

    - `length`, .50: 1 up to 120 graphemes, falling to 0 at 200. Gamed by any short push.
    - `portuguese`, .30: accents and frequent words, up to four. Gamed by any sentence.
    - `creativity`, .20: different words of content, up to five, halved by each generic phrase. Gamed by long closers.
    - `formal`, -.20: a phrase of a letter.
    """
    text = render(completion, prompt).text or ""
    folded, lowered, text_words = fold(text), text.lower(), words(text)
    present = set(text_words)
    markers = sum(map(lowered.count, _ACCENTS)) + sum(word in _PORTUGUESE for word in text_words)
    generic = sum(phrase in folded for phrase in _GENERIC)
    return Score(
        {
            "length": ramp(graphemes(text), HOPELESS, LONGEST) ** 2 if text else 0.0,
            "portuguese": min(markers, ENOUGH_MARKERS) / ENOUGH_MARKERS,
            "creativity": min(len(present - FUNCTION_WORDS), ENOUGH_CONTENT) / ENOUGH_CONTENT * 0.5**generic,
            "formal": float(_FORMAL.are_in(folded, present)),
        }
    )


V42_REWARD: Final = Reward(WEIGHTS, score)
