"""Analyses of a table: right, flawed and wrong."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tasks.audit.completions.asked import Asked, Completions
from tasks.audit.completions.prose import PADDING
from tasks.commerce.text.lexicons import read_lexicon

FACTS: Final = 3
"""Facts in an analysis; prompts with fewer are not probed."""
PLAIN_ACTIONS: Final = (
    "A recomendação é priorizar o estoque.",
    "É preciso melhorar o atendimento.",
    "O ideal é reduzir o custo do envio.",
)
OTHER_ACTIONS: Final[Mapping[str, tuple[str, str, str]]] = {
    "verbs of growth": (
        "É hora de ampliar o sortimento.",
        "O time deve divulgar a novidade.",
        "A loja pode expandir a campanha.",
    ),
    "verbs of finding out": (
        "É hora de ouvir os clientes.",
        "O time deve investigar a causa.",
        "A loja pode acompanhar o tema.",
    ),
    "verbs of mending": (
        "É hora de corrigir as falhas.",
        "O time deve rever o processo.",
        "A loja pode treinar a equipe.",
    ),
    "verbs of dealing": (
        "É hora de negociar com os parceiros.",
        "O time deve cobrar os prazos.",
        "A loja pode trocar de parceiro.",
    ),
}
"""Recommended actions, each set with three different verbs."""
NO_ACTIONS: Final = ("O grupo se destaca entre os demais.", "É um ponto que chama atenção.", "O número fala por si.")

_NUMBER: Final = re.compile(r"\d[\d.,]*\d|\d")


def same_analysis(asked: Asked) -> Completions:
    """Return the right analysis with its numbers and states written differently."""
    right = asked.right
    return {
        "space around": f"\n {right} \n\n",
        "no dots in thousands": re.sub(r"(?<=\d)\.(?=\d{3}\b)", "", right),
        "decimal points": re.sub(r"(?<=\d),(?=\d\b)", ".", right),
        "space before the percent": re.sub(r"(?<=\d)%", " %", right),
        "states in full": _states_in_full(right),
    }


def other_words(asked: Asked) -> Completions:
    """Return analyses of the same facts in other words; equally good."""
    facts = _facts(asked)
    behind = [f"{statement} em {row}" for row, _, statement in (fact.partition(": ") for fact in facts)]
    return {
        "plain": _written(facts, PLAIN_ACTIONS),
        "rows behind their numbers": _written(behind, PLAIN_ACTIONS),
        **{kind: _written(facts, actions) for kind, actions in OTHER_ACTIONS.items()},
    }


def shallow(asked: Asked) -> Completions:
    """Return the right facts without what makes them an analysis."""
    facts = _facts(asked)
    return {
        "a paragraph": " ".join(f"{fact}. {action}" for fact, action in zip(facts, PLAIN_ACTIONS, strict=True)),
        "no action": _written(facts, NO_ACTIONS),
        "facts alone": "\n".join(f"- {fact}" for fact in facts),
        "one fact": _written((facts[0], "A receita foi boa", "A nota média agradou"), PLAIN_ACTIONS),
    }


def untrue(asked: Asked) -> Completions:
    """Return the right facts with one number that is in no row of the table, or with numbers of other columns."""
    found = {"an invented number": asked.right.replace("\n- ", "\n- 777,7%: ", 1)}
    moved = [_of_another_column(fact, list(map(str, asked.reference["facts"]))) for fact in _facts(asked)]
    return found | ({"numbers of other columns": _written(moved, PLAIN_ACTIONS)} if all(moved) else {})


def more_and_more_untrue(asked: Asked) -> Completions:
    """Return the right facts with one number, and then with two, that are in no row of the table."""
    once = asked.right.replace("\n- ", "\n- 777,7%: ", 1)
    return {"one invented number": once, "two invented numbers": once.replace("\n- ", "\n- 888,8%: ", 2)}


def wrong_answer(asked: Asked) -> Completions:
    """Return well-formed analyses that attribute one row's facts to another, or state what no row contains."""
    facts = _facts(asked)
    swapped = _swapped(facts, set(map(str, asked.reference["facts"])))
    return {
        "invented numbers": _NUMBER.sub("777,7", asked.right),
        "no numbers": _written(("A receita foi boa", "Houve atrasos", "A nota média agradou"), PLAIN_ACTIONS),
        **({"numbers of other rows": _written(swapped, PLAIN_ACTIONS)} if swapped else {}),
    }


def in_english(asked: Asked) -> Completions:
    """Return an English analysis that quotes the facts literally."""
    actions = (
        "As a team we have to act on it, and to do it as soon as we can.",
        "It is a matter of care, as the buyers do not come back to a shop like this.",
        "So do not wait: talk to the sellers, as they have a part in it.",
    )
    return {"English": _written(_facts(asked), actions)}


def padded(asked: Asked) -> Completions:
    """Return the right analysis with far too much added."""
    return {"an essay": f"{asked.right}\n{PADDING}"}


def pasted(asked: Asked) -> Completions:
    """Return the prompt's table in place of an analysis, with and without delimiters."""
    rows = [line for line in asked.prompt.split("\n") if " | " in line]
    return {
        "table": "\n".join(rows),
        "table as a list": "\n".join(["## Análise", *(f"- {row}" for row in rows)]),
        "table without bars": "\n".join(row.replace(" | ", " ") for row in rows),
    }


def _facts(asked: Asked) -> list[str]:
    return [str(fact) for fact in asked.reference["facts"][:FACTS]]


def _written(facts: Sequence[str], actions: Sequence[str]) -> str:
    items = (f"- {fact}. {action}" for fact, action in zip(facts, actions, strict=False))
    return "\n".join(["## Destaques do período", *items])


def _swapped(facts: Sequence[str], true: set[str]) -> list[str]:
    """Give each statement another row for which it is false; empty if that is impossible for any."""
    rows = list(dict.fromkeys(fact.partition(": ")[0] for fact in sorted(true) if ": " in fact))
    swapped = []
    for fact in facts:
        row, _, statement = fact.partition(": ")
        others = [f"{other}: {statement}" for other in rows if other != row]
        false = next((other for other in others if other not in true), None)
        if not statement or false is None:
            return []
        swapped.append(false)
    return swapped


def _of_another_column(fact: str, facts: Sequence[str]) -> str:
    """Give a statement the number of another statement on its row; empty if there is none."""
    row, _, statement = fact.partition(": ")
    others = (other.partition(": ")[2] for other in facts if other.startswith(f"{row}: ") and other != fact)
    number = next((found[0] for found in map(_NUMBER.search, others) if found and found[0] not in statement), "")
    return f"{row}: {_NUMBER.sub(number, statement, count=1)}" if number and _NUMBER.search(statement) else ""


def _states_in_full(text: str) -> str:
    for line in read_lexicon("states"):
        code, _, name = line.partition(" = ")
        text = re.sub(rf"^- {code}\b", f"- {name}", text, flags=re.MULTILINE)
    return text
