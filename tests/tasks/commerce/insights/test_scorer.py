"""The reward of findings: bounded, 1 for the best, never raised by a false claim or by a repeated cell."""

import json
import random
from collections import Counter, defaultdict
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.insights.prompts import cells_of, fact_tables
from tasks.commerce.insights.scorer import REWARD, CitedFinding, check, fits, score
from tasks.commerce.insights.table import ACTIONS, FigureTable, actions_on
from tasks.commerce.insights.task import answer
from tasks.synthesize.simulated import simulate_store
from tests.tasks.commerce.insights.tables import answer_of, claims_on, finding, prompts, table_of

TABLES = 2_000
Usual = dict[tuple[str, str], str]


def reward(completion: str, prompt: str) -> float:
    return REWARD.total(score(completion, prompt, None, None).components)


@given(prompts())
def test_the_best_findings_earn_all(prompt: str) -> None:
    right = answer({"facts": cells_of(prompt)})
    findings = json.loads(right)["achados"]
    # A table of one cell has one thing to say, and two are asked for.
    assert reward(right, prompt) == pytest.approx(1.0 if len(findings) > 1 else 0.925)


@given(st.data(), prompts(), st.booleans())
def test_neither_a_false_claim_nor_a_repeated_cell_raises_it(data: st.DataObject, prompt: str, repeats: bool) -> None:
    table = table_of(prompt)
    every = data.draw(st.lists(st.sampled_from(claims_on(prompt)), min_size=1, max_size=3))
    with_actions = [{**each, "acao": data.draw(st.sampled_from(["", *ACTIONS]))} for each in every]
    known = {(each["linha"], each["coluna"]) for each in every if check(table, [each])[0].said}
    worse = [
        each
        for each in claims_on(prompt)
        if (check(table, [each])[0].said is None) != repeats
        and (not repeats or (each["linha"], each["coluna"]) in known)
    ]
    if worse:
        added = {**data.draw(st.sampled_from(worse)), "acao": data.draw(st.sampled_from(["", *ACTIONS]))}
        place = len(every) if repeats else data.draw(st.integers(0, len(every)))
        longer = [*with_actions[:place], added, *with_actions[place:]]
        assert reward(answer_of(*longer), prompt) <= reward(answer_of(*with_actions), prompt) + 1e-9


@pytest.mark.parametrize("claim", [1, finding("valor", "9", column="Pedidos")])
def test_an_unusable_finding_earns_nothing_if_no_action_fits(claim: object) -> None:
    prompt = "Estado | Pedidos\nSP | 90\nRJ | 85\nMG | 88"
    assert reward(json.dumps({"achados": [claim]}), prompt) == 0.0
    assert reward(answer({"facts": cells_of(prompt)}), prompt) == pytest.approx(1.0)


def test_a_set_that_hides_a_bad_rating_of_its_row_earns_half() -> None:
    columns = "Categoria | Receita | Pedidos | Nota média"
    prompt = f"{columns}\nlivros | R$ 900 | 90 | 1,2\njogos | R$ 300 | 80 | 4,3\nbebês | R$ 310 | 85 | 4,2"
    sums = [finding("maior", "R$ 900", "livros"), finding("menor", "80", "jogos", "Pedidos")]
    rating = finding("pior", "1,2", "livros", "Nota média")
    hidden, told = reward(answer_of(*sums), prompt), reward(answer_of(*sums, rating), prompt)
    assert hidden < 0.5 * reward(answer_of(*sums), prompt.replace("1,2", "4,2"))
    assert hidden < 0.1
    assert told > 0.5
    other = answer_of(sums[1])
    assert reward(other, prompt) == pytest.approx(reward(other, prompt.replace("1,2", "4,2")), abs=0.001)


def test_fixed_templates_earn_no_more_than_they_may() -> None:
    """The highest of each column at most .75, the first row's best at most .5."""
    store = simulate_store(1_500, random.Random("templates:store"))
    texts = list(islice(fact_tables(store, random.Random("templates")), TABLES))
    tables = [table_of(text) for text in texts]
    # The action that fits the highest cell of a column most often, whole ones counting twice.
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for table in tables:
        for each in _highest(table, {}):
            for action in ACTIONS.values():
                if fits(table, each, action):
                    counts[table.kind, each.coluna][action.id] += 1 if action.lado == "ambos" else 2
    usual = {key: max(of, key=lambda action: of[action]) for key, of in counts.items()}
    for template, most in ((_highest, 0.75), (_first_row, 0.5)):
        earned = [reward(_written(template(table, usual)), text) for table, text in zip(tables, texts, strict=True)]
        assert sum(earned) / TABLES <= most


def _highest(table: FigureTable, usual: Usual) -> list[CitedFinding]:
    found: list[CitedFinding] = []
    for title in list(table.columns)[:4]:
        row = max(table.rows, key=lambda each: table.figures[each, title])
        fact = "maior" if "maior" in table.facts[row, title] else "valor"
        found.append(CitedFinding(title, fact, table.texts[row, title], row, usual.get((table.kind, title), "")))
    return found


def _first_row(table: FigureTable, usual: Usual) -> list[CitedFinding]:
    row = table.rows[0]
    found: list[CitedFinding] = []
    for title in list(table.columns)[:4]:
        fact = next(fact for fact in table.facts[row, title] if fact != "razao")
        bare = CitedFinding(title, fact, table.texts[row, title], row, "")
        fitting = (each.id for each in actions_on(table.kind, title.lower()) if fits(table, bare, each))
        found.append(bare._replace(acao=next(fitting, usual.get((table.kind, title), ""))))
    return found


def _written(findings: list[CitedFinding]) -> str:
    return answer_of(*({key: value for key, value in each._asdict().items() if key != "outra"} for each in findings))
