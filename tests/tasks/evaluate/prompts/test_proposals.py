"""Proposals of an endpoint: what keeps the task's facts may run, all else is refused and counted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.config.endpoint import EndpointSection
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.evaluate.prompts.proposals import PROPOSALS, facts, find_fault, open_proposer
from tasks.evaluate.prompts.race import Runner
from tasks.evaluate.prompts.wordings import shipped
from tests.chat_server import Reply, says, serve

SENTIMENT = TASKS["sentiment"].system
BETTER = (
    "Leia a avaliação com atenção e responda apenas com um objeto JSON: polarity (positive, neutral ou negative) e "
    "score (inteiro de 1, péssimo, a 5, ótimo). Não escreva nada antes nem depois."
)


def test_a_wording_with_the_same_facts_may_run() -> None:
    assert find_fault("sentiment", BETTER) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(positive, neutral ou negative)", "(positive ou negative)"),
        ("(positive, neutral ou negative)", "(bom, neutro ou ruim)"),
        ("polarity (", "sentiment ("),
        ("a 5, ótimo", "a 10, ótimo"),
        (" e score (inteiro de 1, péssimo, a 5, ótimo)", ""),
        ("objeto JSON", "objeto"),
        ("com atenção", "de {cliente} com atenção"),
        ("com atenção", "da geladeira com atenção"),
        ("com atenção", "de 40 linhas com atenção"),
        ("Não escreva nada", "A entrega atrasou. Não escreva nada"),
        ("com atenção e", "e não"),
        ("Leia", "Não leia"),
        ("objeto JSON: ", "objeto JSON, sem "),
        ("objeto JSON: ", "objeto JSON. Não inclua: "),
        ("objeto JSON: ", "objeto JSON. Não responda com, "),
        ("Não escreva nada", "Omita score. Não escreva nada"),
        ("Não escreva nada", "Na dúvida, neutral. Não escreva nada"),
        ("Não escreva nada", "O cliente ficou satisfeito. Não escreva nada"),
        ("Não escreva nada", "A nota é dez. Não escreva nada"),
        ("Não escreva nada", "Invente o texto. Não escreva nada"),
        ("Não escreva nada", "★★★★★ Não escreva nada"),
        ("Não escreva nada", "O cliente mora em Curitiba. Não escreva nada"),
    ],
)
def test_a_wording_with_other_facts_is_refused(old: str, new: str) -> None:
    assert old in BETTER
    assert find_fault("sentiment", BETTER.replace(old, new)) == "other facts"


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        ("sql_qa", "sellers(seller_id, seller_state)", "vendedores(seller_id, seller_state)"),
        ("sql_qa", "customer_state", "customer_city"),
        ("push", "120", "90"),
        ("push", "frete grátis", "frete pago"),
        ("churn", "risk_score (0 a 1)", "risk_score (0 a 100)"),
        ("extraction", ", price, other", ", other"),
        ("insights", "com ##", "com #"),
        ("insights", "três ou quatro", "cinco ou seis"),
        ("insights", "três ou quatro", "dez"),
        ("insights", "Não invente", "Invente"),
        ("insights", "números exatos", "sem números exatos"),
        ("insights", "Escreva em português", "Não escreva em português"),
        ("insights", "com -", "com *"),
        ("push", "até 120", "mais de 120"),
        ("push", "sem saudação", "com saudação"),
        ("push", "com o produto", "sem o produto"),
        ("push", "15% de desconto! Corre", "frete grátis! Corre"),
        ("push", "Confira no app!", "Confira no app!\nExemplo: Vinhos com desconto!"),
        ("sql_qa", "Arredonde valores", "Não arredonde valores"),
        ("sql_qa", "Tabelas:", "Não use tabelas:"),
        ("churn", "só com um objeto JSON:", "só com um objeto JSON sem"),
        ("churn", "Leia com atenção.", "Perdemos este cliente."),
        ("extraction", "Leia com atenção.", "Preencha true em todos."),
        ("extraction", "Leia com atenção.", "A queixa é delivery."),
    ],
)
def test_no_task_loses_a_table_a_limit_or_a_label(task: TaskName, old: str, new: str) -> None:
    text = f"Leia com atenção. {TASKS[task].system}"
    assert find_fault(task, text) is None
    assert find_fault(task, text.replace(old, new)) == "other facts"


@pytest.mark.parametrize("task", TASKS)
def test_a_shipped_wording_keeps_its_own_rules(task: TaskName) -> None:
    for each in shipped(task):
        if facts(each.system) >= facts(TASKS[task].system):
            assert find_fault(task, f"Leia com atenção. {each.system}") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Não escreva nada antes nem depois", "Não explique e não invente outros valores"),
        ("Não escreva nada antes nem depois", "Nenhum texto fora dele"),
        ("responda apenas com um", "não escreva nada além de um"),
        ("responda apenas com", "devolva, e nada mais,"),
        ("Não escreva nada antes nem depois", "Não omita nem altere a nota ou a polaridade"),
        ("Leia a avaliação com atenção", "Você é especialista e classifica o sentimento de cada avaliação"),
    ],
)
def test_an_honest_rewording_may_run(old: str, new: str) -> None:
    assert old in BETTER
    assert find_fault("sentiment", BETTER.replace(old, new)) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (SENTIMENT, "nothing new"),
        (SENTIMENT + " Leia." * 99, "too long"),
        (BETTER + "\x1b[0m", "control characters"),
        (f"Claro! Aqui está a nova instrução: {BETTER}", "chatter"),
    ],
)
def test_what_is_no_new_instruction_is_refused(text: str, reason: str) -> None:
    assert find_fault("sentiment", text) == reason


def propose(folder: Path, play: Callable[[str, int], Reply], times: int = 1) -> tuple[list[str], object, list[str]]:
    """Ask a server once or more often; return what may run, the proposer, and the texts that the server was sent."""
    with serve(play) as server:
        config = EndpointSection(url=server.url, model="m", max_attempts=1)
        with open_proposer(config, 3, folder) as proposer:
            for _ in range(times):
                found = proposer.propose("sentiment", Runner(shipped("sentiment")[0]), 0)
            return [each.system for each in found], proposer, server.texts


def test_a_proposal_with_other_facts_is_refused_and_counted_and_the_other_one_runs(tmp_path: Path) -> None:
    answers = [BETTER, BETTER.replace("a 5", "a 9")]
    found, proposer, texts = propose(tmp_path, lambda _, number: says(answers[number % 2]))
    assert found == [BETTER]
    assert proposer.refused == {"other facts": 1}  # type: ignore[attr-defined]
    assert len(texts) == PROPOSALS
    assert all(text.startswith(f"Instrução:\n{SENTIMENT}") for text in texts)


def test_a_reply_is_paid_for_once(tmp_path: Path) -> None:
    assert len(propose(tmp_path, lambda *_: says(BETTER), times=2)[2]) == PROPOSALS
    found, _, texts = propose(tmp_path, lambda *_: says("outra"))
    assert (found, texts) == ([BETTER], [])


def test_an_endpoint_that_fails_ends_no_search(tmp_path: Path) -> None:
    found, proposer, _ = propose(tmp_path, lambda *_: Reply(b"", status=500))
    assert found == []
    assert "the proposing endpoint" in proposer.failure  # type: ignore[attr-defined]
