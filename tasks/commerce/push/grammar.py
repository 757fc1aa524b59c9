"""Grammar of the pushes for one product and offer, in the Lark notation of llguidance: only their length can be wrong.

Openers are set apart by the words that a core or closer may have too, so that no path has a word twice.
"""

import json
from collections.abc import Iterable, Mapping

from tasks.commerce.push.phrases import CampaignPhrases, content_words

Words = frozenset[str]


def push_grammar(phrases: CampaignPhrases) -> str:
    """Return the grammar of the templates that these phrases make; empty, which guides nothing, where there is none."""
    if not phrases.cores:
        return ""
    shared = _shared(phrases.cores, phrases.closers)
    openers = _by_words([*phrases.own, *phrases.general], shared)
    places = {words: place for place, words in enumerate({Words(): None, **dict.fromkeys(openers)})}
    starts = [f'({_one_of(texts)}) " " rest_{places[words]}' for words, texts in openers.items()]
    rules = [f"start: {' | '.join(['rest_0', *starts])}"]
    closers = _by_words(phrases.closers, _shared([*phrases.own, *phrases.general], phrases.cores))
    ends: dict[str, str] = {}
    for words, place in places.items():
        cores: dict[str, list[str]] = {}
        for core in phrases.cores:
            said = words | content_words(core)
            if words.isdisjoint(content_words(core)):
                free = _one_of(text for own, texts in closers.items() if said.isdisjoint(own) for text in texts)
                end = f' (" " {ends.setdefault(free, f"end_{len(ends)}")})?' if free else ""
                cores.setdefault(end, []).append(core)
        rules.append(f"rest_{place}: {' | '.join(f'({_one_of(texts)}){end}' for end, texts in cores.items())}")
    return "\n".join([*rules, *(f"{name}: {texts}" for texts, name in ends.items())])


def _shared(texts: Iterable[str], others: Iterable[str]) -> Words:
    return Words().union(*map(content_words, texts), *map(content_words, others))


def _by_words(texts: Iterable[str], shared: Words) -> Mapping[Words, list[str]]:
    found: dict[Words, list[str]] = {}
    for text in texts:
        found.setdefault(content_words(text) & shared, []).append(text)
    return found


def _one_of(texts: Iterable[str]) -> str:
    return " | ".join(json.dumps(text, ensure_ascii=False) for text in texts)
