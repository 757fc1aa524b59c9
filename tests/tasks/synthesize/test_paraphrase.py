"""Paraphrases: only the asking sentence leaves the machine, facts stay, and nothing is asked twice."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.config.config import ParaphraseConfig
from schemas.errors import InputError
from schemas.tables.prompts import PromptRow, content_id
from tasks.commerce.text.lexicons import read_wording
from tasks.curate.quarantine import drop_schema_failures
from tasks.policy import endpoint
from tasks.synthesize.paraphrase import Tally, find_sentence, open_paraphraser
from tests.chat_server import ChatServer, Reply, in_turn, says, serve
from tests.prompt_tables import prompt_table

REVIEW = "Sou a Joana Prado, comprei e não chegou!\nQuero meu dinheiro: joana@exemplo.com.br"
INSTRUCTION = read_wording("extraction").instructions[0]
REWORDED = f"Agora, {INSTRUCTION[0].lower()}{INSTRUCTION[1:]}"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "FIRST_WAIT_SECONDS", 0.001)


def extraction_row(number: int = 0, instruction: str = INSTRUCTION) -> PromptRow:
    content = (
        "extraction",
        "Responda.",
        f"{instruction}\nNota: 1\nAvaliação: {REVIEW} {number}",
        {"rating": 1, "fields": {}},
    )
    return PromptRow(content_id(*content), *content, "simulated", "c1", "o1", f"r{number}")  # type: ignore[arg-type]


def sql_row(state: str) -> PromptRow:
    sql = f"SELECT COUNT(*) FROM customers WHERE customer_state = '{state}'"  # noqa: S608 - it is never run
    content = (
        "sql_qa",
        "Responda.",
        f"Quantos clientes (customer_unique_id) de {state} fizeram 2 pedidos ou mais?",
        {"sql": sql},
    )
    return PromptRow(content_id(*content), *content, "simulated", None, None, None)  # type: ignore[arg-type]


def reworded(text: str) -> str:
    """Paraphrase as a good model does."""
    if text.startswith("Quantos clientes "):
        return text.replace("Quantos clientes", "Qual é a quantidade de clientes").replace("fizeram", "que fizeram")
    return REWORDED


def follow(
    server: ChatServer, cache: Path, rows: list[PromptRow], seed: int = 0, **values: object
) -> tuple[list[PromptRow], Tally]:
    settings = {"url": server.url, "model": "tucano", "share": 1.0, "max_attempts": 2, **values}
    with open_paraphraser(ParaphraseConfig.model_validate(settings), seed, cache) as paraphraser:
        return list(paraphraser.follow(rows)), paraphraser.tally


def test_each_prompt_is_followed_by_a_child_that_shares_all_but_the_instruction(tmp_path: Path) -> None:
    rows = [extraction_row(0), sql_row("SP"), extraction_row(1)]
    with serve(lambda text, _: says(reworded(text))) as server:
        made, tally = follow(server, tmp_path, rows)
    assert made[::2] == rows
    for parent, child in zip(made[::2], made[1::2], strict=True):
        assert child.parent_id == parent.prompt_id
        assert (
            child.prompt_id == content_id(child.task, child.system, child.prompt, child.reference) != parent.prompt_id
        )
        assert child.prompt.split("\n")[1:] == parent.prompt.split("\n")[1:]
        assert (child.reference, child.system, child.source) == (parent.reference, parent.system, parent.source)
        assert (child.customer_id, child.review_id) == (parent.customer_id, parent.review_id)
    assert made[1].prompt.startswith(f"{REWORDED}\nNota: 1")
    assert made[3].prompt == "Qual é a quantidade de clientes (customer_unique_id) de SP que fizeram 2 pedidos ou mais?"
    assert drop_schema_failures(prompt_table(made))[1].is_empty()
    assert (tally.made, tally.dropped, tally.refused) == (
        {"extraction": 2, "sql_qa": 1},
        {"extraction": 0, "sql_qa": 0},
        {},
    )


def test_no_word_of_a_shopper_is_sent(tmp_path: Path) -> None:
    rows = [
        extraction_row(number, instruction)
        for number, instruction in enumerate([INSTRUCTION, "Não conhecida.", REVIEW])
    ]
    with serve(lambda text, _: says(reworded(text))) as server:
        made, _ = follow(server, tmp_path, rows)
    assert server.texts == [INSTRUCTION]
    assert "Joana" not in json.dumps(server.requests, ensure_ascii=False)
    assert [row.parent_id is None for row in made] == [True, False, True, True]


def test_a_second_run_asks_nothing_and_gives_the_same(tmp_path: Path) -> None:
    rows = [sql_row(state) for state in ("SP", "RJ", "MG")]
    numbered = iter(range(100))

    def moody(text: str, _: int) -> Reply:
        number = next(numbered)
        return says("Não sei." if number % 3 == 0 else reworded(text))

    with serve(moody) as server:
        first = follow(server, tmp_path, rows, concurrency=3)
        asked = len(server.requests)
        again = follow(server, tmp_path, rows, concurrency=1)
        assert len(server.requests) == asked
    assert again[0] == first[0]
    assert again[1].counts() == first[1].counts()
    offline = follow(server, tmp_path, rows)
    assert offline[0] == first[0]


def test_the_speed_of_the_answers_decides_nothing(tmp_path: Path) -> None:
    rows = [sql_row(state) for state in ("SP", "RJ", "MG", "BA", "RS", "PR")]

    def uneven(text: str, number: int) -> Reply:
        reply = says(reworded(text))
        reply.seconds = 0.05 * (5 - number % 6)
        return reply

    with serve(uneven) as server:
        slow, _ = follow(server, tmp_path / "slow", rows, concurrency=6)
        assert 1 < server.most_at_once <= 6
        fast, _ = follow(server, tmp_path / "fast", rows, concurrency=1)
    assert slow == fast


def test_a_refused_answer_is_asked_for_again_and_counted(tmp_path: Path) -> None:
    wrong = [
        says("Qual é a quantidade de clientes (customer_unique_id) de RJ que fizeram 2 pedidos ou mais?"),
        says("Claro, aqui está a frase que você pediu!"),
    ]
    right = says(reworded("Quantos clientes (customer_unique_id) de SP fizeram 2 pedidos ou mais?"))
    with serve(in_turn([*wrong, right])) as server:
        made, tally = follow(server, tmp_path, [sql_row("SP")])
    assert [row.prompt for row in made][
        1
    ] == "Qual é a quantidade de clientes (customer_unique_id) de SP que fizeram 2 pedidos ou mais?"
    assert tally.refused == {"names": 1, "chatter": 1}
    assert len({request["seed"] for request in server.requests}) == 3


def test_the_share_and_the_seed_choose_who_is_paraphrased(tmp_path: Path) -> None:
    rows = [extraction_row(number) for number in range(400)]

    def chosen(seed: int, share: float) -> set[str]:
        made, _ = follow(server, tmp_path, rows, seed=seed, share=share)
        return {row.parent_id for row in made if row.parent_id}

    with serve(lambda text, _: says(reworded(text))) as server:
        few, again, others, more = chosen(0, 0.2), chosen(0, 0.2), chosen(1, 0.2), chosen(0, 0.5)
    assert 50 < len(few) < 110
    assert few == again
    assert few != others
    assert few < more


def test_an_endpoint_that_fails_stops_the_run_and_what_it_said_is_kept(tmp_path: Path) -> None:
    rows = [sql_row(state) for state in ("SP", "RJ", "MG")]

    def failing(text: str, number: int) -> Reply:
        return says(reworded(text)) if "SP" in text else Reply(b"", 401)

    with serve(failing) as server, pytest.raises(InputError, match="answered 401"):
        follow(server, tmp_path, rows, concurrency=1)
    with serve(lambda text, _: says(reworded(text))) as server:
        made, _ = follow(server, tmp_path, rows)
    assert len(made) == 6
    assert all("SP" not in text for text in server.texts)


def test_an_endpoint_that_need_not_hold_is_given_up_once_and_reported(tmp_path: Path) -> None:
    rows = [sql_row(f"{first}{second}") for first in "ABCDEFGHIJ" for second in "ABCDEFGHIJ"]
    with serve(lambda text, number: says(reworded(text)) if number < 3 else Reply(b"", 500)) as server:
        made, tally = follow(server, tmp_path, rows, mandatory=False, concurrency=1)
    assert [row for row in made if row.parent_id is None] == rows
    assert tally.made == {"sql_qa": 3}
    assert tally.dropped == {"sql_qa": 97}
    assert tally.failure is not None
    assert "answered 500" in tally.failure
    assert len(server.requests) <= 3 + 2 * 2


@pytest.mark.parametrize(
    "line",
    [
        "Sou a Joana Prado e não recebi meu pedido.",
        "Joana Prado mora onde?",
        "Quantos clientes (customer_unique_id) de Joana Prado <joana@exemplo.com.br>, fizeram 2 pedidos ou mais?",
        "Escreva o SQL: Joana Prado, joana@exemplo.com.br",
        "",
    ],
)
def test_only_questions_of_the_bank_are_sent(line: str) -> None:
    assert find_sentence(replace(sql_row("SP"), prompt=line)) is None
    assert find_sentence(replace(sql_row("SP"), prompt=f"{line}\nQuantos?")) is None
