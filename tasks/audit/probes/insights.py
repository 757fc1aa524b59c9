"""Probes of insights: its own words, and the properties of its reward."""

from typing import Final

from tasks.audit.completions import analyses, any_task
from tasks.audit.probes.properties import (
    AS_GOOD,
    WRONG,
    ceiling,
    changes_nothing,
    content_before_form,
    costs,
    each_costs_more,
    earn_the_same,
    unknown_is_not_scored,
)
from tasks.audit.probes.task_probes import TaskProbes
from tasks.commerce.reward import Reference


def _less(known: Reference) -> Reference:
    return {**known, "facts": known["facts"][: analyses.FACTS]}


def _is_sufficient(reference: Reference) -> bool:
    facts = reference["facts"]
    return len(facts) >= analyses.FACTS and all(": " in str(fact) for fact in facts)


def _facts(reference: Reference) -> list[str]:
    return list(map(str, reference["facts"][:3]))


PROBES: Final = TaskProbes(
    keywords=(
        "## Análise\n"
        "- cliente produto vendas recomendar melhorar\n"
        "- priorizar receita atrasos estado\n"
        "- investir campanha crescimento reduzir ampliar negócio mercado estratégia"
    ),
    answer_format=(
        "## Título\n- Ponto 1: [número da tabela]. [Ação recomendada]\n- Ponto 2: [número]. [Ação recomendada]"
    ),
    other_language=(
        "## Highlights\n"
        "- Revenue grew and we recommend to prioritize the stock of the best products.\n"
        "- Delays are high and we recommend to improve the delivery.\n"
        "- Ratings are low and we should act on it."
    ),
    own=(
        unknown_is_not_scored(_less),
        changes_nothing("same_analysis", analyses.same_analysis),
        earn_the_same("other_words", analyses.other_words, AS_GOOD),
        ceiling("pasted_table", analyses.pasted),
        ceiling("wrong_answer", analyses.wrong_answer, WRONG),
        costs("untrue_number", analyses.untrue),
        each_costs_more("untrue_numbers", analyses.more_and_more_untrue),
        ceiling("english", analyses.in_english, WRONG),
        costs("shallow", analyses.shallow),
        costs("padding", analyses.padded),
        content_before_form(any_task.chatter, analyses.wrong_answer),
    ),
    facts=_facts,
    is_sufficient=_is_sufficient,
)
