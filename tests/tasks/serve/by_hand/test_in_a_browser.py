"""The page in Chromium at a desktop's and a telephone's width: a person asks, sees what was checked, and judges."""

import json
from collections.abc import Iterator

import pytest

from schemas.tasks import TASK_NAMES
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.serve.deployment import DeployedVersion
from tasks.serve.served_model import BASE
from tests.chat_server import Reply, says
from tests.gateway import Gateway, running, served_model
from tests.tasks.bag_of_words.test_bag import REVIEWS, learned
from tests.tasks.serve.by_hand.browser import Page, browsing

TOKEN = b"a-token-of-the-page"
HOSTILE = '<img src=x onerror="document.title=1">\u202e'
WHITE, INK = "rgb(241, 245, 249)", "rgb(11, 18, 32)"


def play(message: str, number: int) -> Reply:
    """Answer a push with what may not be sent, and a review with a contradiction."""
    return says('{"polarity":"positive","score":1}' if "Avaliação" in message else HOSTILE, "stop", (30, 9))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with a base and a bag of words beside its champion, which asks for a token."""
    with running(tmp_path_factory.mktemp("logs"), play, tokens=(TOKEN,)) as gateway:
        deployed, bag = gateway.answering.deployment, {"sentiment": learned("sentiment", REVIEWS)}
        deployed.beside = {
            BASE: DeployedVersion(served_model(version_name="shop/1+base"), deployed.client),
            BAG_OF_WORDS: DeployedVersion(served_model(bags=bag), deployed.client),
        }
        yield gateway


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(tmp_path_factory.mktemp("browser")) as page:
        yield page


def opened(page: Page, shop: Gateway, language: str, width: int, *, dark: bool = False) -> None:
    """Open the page, and give it the token that it asks for."""
    page.open(f"http://127.0.0.1:{shop.port}/?lang={language}", width, dark=dark)
    page.wait("!document.getElementById('token').hidden")
    page.run(
        f"const field = document.querySelector('#token input'); field.value = '{TOKEN.decode()}'; "
        "field.dispatchEvent(new Event('change'))"
    )


def ask(page: Page, task: str, **values: str) -> None:
    choose = f"const task = document.getElementById('task'); task.value = '{task}'; "
    page.run(f"{{ {choose} task.dispatchEvent(new Event('change')); }}")
    for name, value in values.items():
        page.run(f"document.querySelector('#{task} [name={name}]').value = {json.dumps(value)}")
    page.run(f"document.querySelector('#{task} .ask').click()")
    page.wait(f"!document.querySelector('#{task} .ask').disabled")


def card(page: Page, name: str) -> str | None:
    """Return what a model's card says; None where it is not shown."""
    found: str | None = page.run(f"(c => c.hidden ? null : c.innerText)(document.getElementById('{name}'))")
    return found


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("language", "contradiction"),
    [("pt", "polarity e score se contradizem"), ("en", "polarity and score contradict each other")],
)
def test_all_that_answer_stand_beside_each_other_with_why_they_are_not_checked(
    page: Page, shop: Gateway, language: str, contradiction: str, width: int
) -> None:
    opened(page, shop, language, width, dark=language == "pt")
    ask(page, "sentiment", review="veio quebrado")
    for name in ("champion", "base"):
        assert contradiction in (card(page, name) or "")
    assert '"negative"' in (card(page, BAG_OF_WORDS) or "")
    assert page.run("document.documentElement.scrollWidth") <= width
    tops = page.run("[...document.querySelectorAll('.card')].map(each => Math.round(each.getBoundingClientRect().top))")
    assert (len(set(tops)) == 1) == (width == 1280)
    assert page.run("getComputedStyle(document.body).backgroundColor") == (INK if language == "pt" else WHITE)
    page.run("document.querySelector('#champion .judge button:last-child').click()")
    page.wait("document.querySelector('.wrong') && !document.querySelector('#champion .judge button')")
    listed = page.run("document.querySelector('.wrong').innerText")
    assert "veio quebrado" in listed
    assert "shop/1" in listed
    assert page.run("document.documentElement.scrollWidth") <= width


def test_a_hostile_answer_is_no_part_of_the_page_and_a_task_without_a_bag_has_no_card_of_it(
    page: Page, shop: Gateway
) -> None:
    opened(page, shop, "en", 1280)
    ask(page, "push", product="fone <b>", offer="20% de desconto", segment="todos")
    assert "the product or the offer has what no name has" in (card(page, "champion") or "")
    assert card(page, BAG_OF_WORDS) is None
    ask(page, "sql_qa", question="Quantos pedidos?")
    assert "the answer has no SELECT" in (card(page, "champion") or "")
    ask(page, "churn", state="sp")
    assert "state: String should match pattern" in (card(page, "champion") or "")
    assert page.run("document.title") == "Try it: shop/1"
    assert page.run("[...document.forms].map(form => form.id).sort()") == sorted(TASK_NAMES)
    assert page.run("document.querySelectorAll('img').length") == 0


def test_a_late_answer_is_shown_under_no_other_question(page: Page, shop: Gateway) -> None:
    opened(page, shop, "en", 1280)
    page.run(
        "{ const now = fetch; late = []; fetch = (path, sent) => path.includes('/sentiment') "
        "? new Promise((go) => late.push(() => go(now(path, sent)))) : now(path, sent) }"
    )
    page.run("document.querySelector('#sentiment .ask').click()")
    ask(page, "push", product="fone", offer="20% de desconto", segment="todos")
    page.run("late.forEach((go) => go())")
    page.wait("!document.querySelector('#sentiment .ask').disabled")
    said = card(page, "champion") or ""
    assert "shop/1 ·" in said
    assert "contradict" not in said


def test_times_are_those_of_sao_paulo_whatever_the_machines_zone(page: Page, shop: Gateway) -> None:
    page.call("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    opened(page, shop, "pt", 1280)
    page.wait("document.querySelector('.wrong')")
    shown = page.run("clock.format(new Date('2026-03-01T02:30:00Z'))")
    assert shown.startswith("28 de fev")
    assert "23:30" in shown
