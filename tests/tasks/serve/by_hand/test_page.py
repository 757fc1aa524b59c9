"""Words and order of the page: each reason of the checks has an English one."""

import json
from typing import Final

from schemas.source import REPOSITORY
from tasks.commerce.churn import scorer as churn
from tasks.commerce.extraction.quotation import QuotationFault
from tasks.commerce.insights import scorer as insights
from tasks.commerce.push.scorer import PushFault
from tasks.commerce.sql_qa.task import REFUSED
from tasks.serve.by_hand.page import render
from tasks.serve.served_model import CUT_OFF

REASONS: Final = (
    *(f"achado 1: {fault}" for fault in insights.Fault),
    *(f"motivo 2: {fault}" for fault in churn.ReasonFault),
    *(f"main_complaint omitido: {fault}" for fault in QuotationFault),
    *(f"trocada por um texto simples: {fault}" for fault in PushFault),
    *(churn.TEXTS.sem_perfil, churn.TEXTS.sem_motivos, churn.TEXTS.sem_apoio, insights.NO_TABLE, CUT_OFF),
    *REFUSED.values(),
)
PORTUGUESE: Final = {"de", "da", "uma", "um", "ou", "é", "não", "que", "mais", "na", "com", "tem", "a resposta"}


def test_what_the_champion_does_not_answer_stands_last() -> None:
    page = render("en", "shop/1", (), ("churn",))
    assert page.index('<form id="churn"') < page.index('<form id="sentiment"')


def test_each_reason_has_english_words() -> None:
    pairs = json.loads((REPOSITORY / "tasks/serve/by_hand/reasons.json").read_text(encoding="utf-8"))
    for reason in map(str, REASONS):
        said = reason
        for portuguese, english in pairs.items():
            said = said.replace(portuguese, english)
        # Field names, and what a person is to write, stay as they are.
        assert not PORTUGUESE & set(said.split()), said
