"""`tucano promote`: what an earlier run registered is promoted, forced or taken back, or refused in a sentence."""

import json
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.flows.command import Ended, in_a_process, in_this_process
from tests.flows.promotable import WHY_HELD, Promotable, make_promotable, store_of
from tests.tasks.bag_of_words.test_bag import REVIEWS, learned

pytestmark = pytest.mark.integration
MODEL = "tucano2-commerce"
PUSH = ("product=fone", "offer=20% de desconto", "segment=novos")


@dataclass(frozen=True)
class Shop:
    """A state folder with a good version, 1, and a damaged one, 2, of the profile's model."""

    world: Promotable
    server: str

    def tucano(self, *arguments: str, promotes: bool = False) -> Ended:
        """Run the command: in a process of its own where it gets as far as Prefect."""
        run = partial(in_a_process, server=self.server) if promotes else in_this_process
        return run("promote", *arguments, "--set", f"state.root={self.world.root}")

    @property
    def aliases(self) -> dict[str, str]:
        return self.world.aliases("tucano2-commerce")

    def runs(self, **tags: str) -> list[Any]:
        client = self.world.registry._client
        experiment = client.get_experiment_by_name("tucano2-commerce")
        wanted = " and ".join(f"tags.{name} = '{value}'" for name, value in tags.items())
        return list(client.search_runs([experiment.experiment_id], wanted))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    world = make_promotable(tmp_path_factory.mktemp("made") / "state")
    for seed, verdict in ((1, "promote"), (2, "hold")):
        world.register(world.policy(seed), world.evaluation(verdict), verdict, "tucano2-commerce")
    return world


@pytest.fixture
def shop(made: Promotable, prefect_server: str) -> Shop:
    """The same folder for each test, with no champion."""
    client = made.registry._client
    for alias in client.get_registered_model("tucano2-commerce").aliases:
        client.delete_registered_model_alias("tucano2-commerce", alias)
    return Shop(made, prefect_server)


def last(ended: Ended) -> str:
    return ended.text.strip().splitlines()[-1]


def move(shop: Shop, version: str) -> None:
    shop.world.registry.promote("tucano2-commerce", "champion", "previous", version, promotion="9" * 64)


def test_a_registered_version_is_promoted_and_a_held_one_by_force_and_that_is_taken_back(shop: Shop) -> None:
    promoted = shop.tucano("1", "--json", promotes=True)
    assert promoted.returncode == 0, promoted.stderr
    document = json.loads(promoted.stdout)
    assert (document["version"], document["promoted"], document["verdict"]) == ("1", True, "promote")
    assert shop.aliases == {"champion": "1"}
    assert (Path(document["path"]) / "merged" / "model.safetensors").exists()

    held = shop.tucano("--json")
    assert held.returncode == 3
    against = "it was not compared with version 1, which is `champion` now"
    assert last(held).endswith(
        f"the gate holds version 2 of tucano2-commerce: {WHY_HELD}; {against}; its report names what would help, "
        "and --force REASON promotes it all the same"
    )
    assert json.loads(held.stdout)["reasons"] == [WHY_HELD, against]
    assert not json.loads(held.stdout)["promoted"]
    assert shop.aliases == {"champion": "1"}

    forced = shop.tucano("--force", "a loja aceita o risco", "--json", promotes=True)
    assert forced.returncode == 0, forced.stderr
    assert "was not compared with version 1" in forced.stderr
    assert (json.loads(forced.stdout)["forced"], json.loads(forced.stdout)["verdict"]) == (
        "a loja aceita o risco",
        "hold",
    )
    assert shop.aliases == {"champion": "2", "previous": "1"}
    assert shop.world.registry.version("tucano2-commerce", "2").forced == "a loja aceita o risco"
    card = Path(json.loads(forced.stdout)["path"]) / "README.md"
    assert "a loja aceita o risco" in card.read_text(encoding="utf-8")
    assert len(shop.runs(forced="a loja aceita o risco")) == 2

    back = shop.tucano("--rollback", "--json")
    assert back.returncode == 0, back.stderr
    assert "version 2 of tucano2-commerce is left: `champion` is version 1 again" in back.stderr
    assert json.loads(back.stdout) == {
        "model": "tucano2-commerce",
        "alias": "champion",
        "version": "1",
        "rolled_back": "2",
    }
    assert shop.aliases == {"champion": "1"}
    assert len(shop.runs(rolled_back="2", version="1")) == 1

    move(shop, "2")
    stale = shop.tucano("1")
    assert stale.returncode == 3
    assert "it was not compared with version 2, which is `champion` now" in last(stale)
    assert shop.aliases == {"champion": "2", "previous": "1"}


def test_a_bag_of_words_answers_its_task_for_the_champion_until_a_model_is_promoted(tmp_path: Path) -> None:
    world = make_promotable(tmp_path / "state")
    bag = learned("sentiment", REVIEWS)
    for seed, gain in ((1, 0.0), (2, 0.0625)):
        world.register(world.policy(seed), world.evaluation("hold", bag=bag, gain=gain), "hold", MODEL)
    shop = Shop(world, "")
    better = shop.tucano("2", "--baseline", "sentiment", "--json")
    assert (better.returncode, json.loads(better.stdout)["promoted"]) == (3, False)
    assert "the tuned model is better in sentiment" in last(better)
    assert "has no bag of words for push; it has sentiment" in last(shop.tucano("1", "--baseline", "push"))
    assert shop.tucano("1", "--baseline", "sentiment").returncode == 0
    assert shop.aliases == {"champion": "1"}

    def ask(*asked: str) -> Ended:
        return in_this_process("ask", *asked, "--json", "--set", f"state.root={world.root}")

    document = json.loads(ask("sentiment", "veio quebrado").stdout)
    assert document["answered_by"] == "the bag of words of version 1"
    assert json.loads(document["answers"][0]["text"]) == {"polarity": "negative", "score": 1}
    assert "push is not learned by version 1 (the gate holds its policy)" in ask("push", *PUSH).text
    assert shop.tucano("2", "--baseline", "sentiment", "--force", "teste").returncode == 0
    assert shop.aliases == {"champion": "1"}
    assert len(shop.runs(baseline="sentiment", forced="teste")) == 1
    move(shop, "1")
    assert world.registry.version(MODEL, "1").baselines == {}


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["7"], "tucano2-commerce has no version 7; it has 2, 1"),
        (["2", "--force", "um\ndois"], "is not one line of plain text"),
        (["--set", "promote.model_name=another"], "no version of another is registered in"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(shop: Shop, arguments: list[str], reported: str) -> None:
    ended = shop.tucano(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert reported in last(ended)
    assert shop.aliases == {}


@pytest.mark.parametrize(
    ("part", "harm"), [("evaluation", "altered"), ("policy", "altered"), ("base", "lost"), ("dataset", "lost")]
)
def test_a_version_whose_parts_are_lost_or_altered_is_not_promoted(shop: Shop, part: str, harm: str) -> None:
    version = shop.world.registry.version("tucano2-commerce", "1")
    own = {"evaluation": version.evaluation, "policy": version.policy}
    sha256 = own.get(part) or getattr(shop.world, part).sha256
    content = store_of(shop.world.root).path(sha256)
    home, aside = content.parent, content.parent.with_name("aside")
    shutil.copytree(home, aside)
    try:
        if harm == "lost":
            shutil.rmtree(home)
        else:
            file = next(file for file in sorted(content.rglob("*")) if file.is_file())
            file.chmod(0o644)
            file.write_bytes(file.read_bytes() + b" ")
        ended = shop.tucano("1")
    finally:
        shutil.rmtree(home, ignore_errors=True)
        aside.rename(home)
    assert ended.returncode == 2
    assert f"the {part} of version 1 of tucano2-commerce is lost or damaged: " in last(ended)
    assert "make it again with `tucano retrain`" in last(ended)
    assert shop.aliases == {}
