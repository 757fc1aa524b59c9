"""The page's language, its policy, and what the gateway answers beside the champion, by HTTP alone."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from tasks.serve.by_hand.beside import beside
from tasks.serve.by_hand.routes import preferred
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineClient
from tasks.serve.local_engine import LocalEngine
from tests.cases import cases_of
from tests.gateway import running, says_right, served_model
from tests.page_elements import PageElements
from tests.tasks.bag_of_words.test_bag import REVIEWS, learned

BAG: Final = learned("sentiment", REVIEWS)


@pytest.mark.parametrize(("accepted", "language"), cases_of(__file__)["LANGUAGES"])
def test_the_language_is_the_one_that_the_browser_prefers(accepted: str, language: str) -> None:
    assert preferred(accepted) == language


def test_the_page_is_open_and_what_it_asks_for_is_not(tmp_path: Path) -> None:
    with running(tmp_path, says_right, tokens=(b"a-token-of-the-page",)) as gateway:
        page = gateway.http.get("/", headers={"Accept-Language": "pt-BR"})
        assert (page.status_code, '<html lang="pt-BR">' in page.text) == (200, True)
        assert '<html lang="en">' in gateway.http.get("/?lang=en", headers={"Accept-Language": "pt"}).text
        assert gateway.http.get("/?lang=de").status_code == 422
        assert gateway.http.get("/v1/feedback").status_code == 401
        assert gateway.http.get("/", headers={"Host": "shop.example"}).status_code == 403
    assert page.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert "default-src 'none'" in page.text
    active = PageElements(page.text).active
    assert active == [("href", "?lang=en")]


def test_what_answers_beside_the_champion_is_checked_and_logged_by_a_name_of_its_own(tmp_path: Path) -> None:
    with running(tmp_path, says_right, model=served_model(unlearned={"sentiment": "floor"})) as gateway:
        assert gateway.ask().json()["error"]["code"] == "task_not_learned"
        assert gateway.ask(by="base").json()["error"]["code"] == "not_beside"
        deployed = gateway.answering.deployment
        deployed.beside = beside(
            deployed.model, LocalEngine(tmp_path, {}, rows=1), tmp_path, {"sentiment": BAG}, rows=1
        )
        # The engine that plays, in the place of one with weights.
        deployed.beside["base"].client = deployed.beside["bag-of-words"].client = deployed.client
        assert gateway.ask(by="base").json()["version"] == "shop/1+base"
        bag = gateway.ask("adorei", by="bag-of-words")
        assert (bag.json()["version"], bag.json()["parsed"]["polarity"]) == ("shop/1+bag-of-words", "positive")
        push = {"product": "fone", "offer": "10% de desconto", "segment": "todos"}
        refused = gateway.http.post("/v1/tasks/push", json=push, params={"by": "bag-of-words"})
        assert (refused.status_code, refused.json()["error"]["param"]) == (422, "by")
        assert gateway.ask(by="another").status_code == 422
        assert [line["model_version"] for line in gateway.logged()] == ["shop/1+base", "shop/1+bag-of-words"]


def test_the_base_is_not_loaded_twice_and_an_engine_of_somebody_elses_has_none(tmp_path: Path) -> None:
    adapters, merged = LocalEngine(tmp_path, {"push": tmp_path}, rows=1), LocalEngine(tmp_path, {}, rows=1)
    with_adapters = served_model(policy=tmp_path, unlearned={"push": "floor"}, bags={"sentiment": BAG})
    assert beside(with_adapters, adapters, tmp_path / "lost", {}, rows=4) == {}
    of_adapters = beside(with_adapters, adapters, tmp_path, {}, rows=4)
    assert of_adapters["base"].client is adapters
    model = of_adapters["base"].model
    assert (model.name_of("push"), model.refusal("push"), model.bags) == ("champion", None, {})
    of_merged = beside(served_model(), merged, tmp_path, {}, rows=4)
    engine = of_merged["base"].client
    assert isinstance(engine, LocalEngine)
    assert engine is not merged
    deployed = DeployedVersion(served_model(), merged)
    deployed.beside = of_merged
    asyncio.run(deployed.retire())
    with pytest.raises(RuntimeError, match="shutdown"):
        engine._thread.submit(print)
    assert (
        list(beside(served_model(), EngineClient("http://127.0.0.1:9/v1", connections=1), tmp_path, {}, rows=4)) == []
    )
