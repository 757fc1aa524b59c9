"""Random walks through a grammar: of the tokens that may follow, each is as likely as any other.

No model writes so: what it never chooses is chosen here, and a grammar that lets anything wrong through shows it soon.
"""

import random
from collections.abc import Iterator

from tasks.policy.guidance import Grammars


def walks(grammars: Grammars, grammar: str, seed: str, count: int, most: int) -> Iterator[list[int] | None]:
    """Yield the tokens of each walk without its end, or None for one that has not ended after so many tokens.

    Args:
        grammars: Those of the tokenizer.
        grammar: The one to walk through.
        seed: Draws the tokens.
        count: Walks.
        most: Tokens of a walk.
    """
    generator = random.Random(seed)
    for _ in range(count):
        matcher, tokens = grammars.start(grammar), list[int]()
        while not matcher.is_stopped() and len(tokens) <= most:
            allowed = grammars.allowed([matcher])[0].nonzero().flatten().tolist()
            tokens.append(generator.choice(allowed))
            matcher.consume_token(tokens[-1])
        if matcher.is_error():
            raise RuntimeError(matcher.get_error().splitlines()[0])
        if not matcher.is_stopped():
            yield None
        else:
            yield tokens[:-1] if matcher.stop_reason() == "EndOfSentence" else tokens
