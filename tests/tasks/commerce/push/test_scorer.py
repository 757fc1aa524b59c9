import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout, ScoredRollout
from schemas.store.store import Store
from schemas.tasks import SPEC_NAMES, SpecName
from tasks.audit.completions.pushes import lengthened
from tasks.commerce.push import prompts as push_prompts
from tasks.commerce.push.campaigns import OFFERS
from tasks.commerce.push.lines import read_campaign
from tasks.commerce.push.scorer import FAR_TOO_LONG, WEIGHTS, WORDING, graphemes, has_several_messages
from tasks.commerce.push.task import TASK
from tasks.commerce.registry import score_rollout

PROSE: tuple[SpecName, ...] = ("grounded", "v4.2")
PROMPT = "Crie a notificação.\nProduto: brinquedos\nOferta: 20% de desconto\nPúblico: clientes sem compra há 90 dias"
REFERENCE = {"product": "brinquedos", "offer": "20% de desconto"}
GOOD = "Brinquedos com 20% de desconto para a criançada! Aproveite hoje no app."
OTHER = "Vem ver: seus brinquedos favoritos com 20% de desconto esperam por você."
ABOUT = "A notificação push deve destacar os brinquedos e os 20% de desconto para estimular a compra."
NEXT_TO_NOTHING = 0.15
PLAIN = 1 - WEIGHTS["appeal"]
"""Reward of a push that says product, offer and call, and nothing of what the product is or to whom it speaks."""


def offering(completion: str, offer: str, product: str = "brinquedos") -> ScoredRollout:
    prompt = f"Crie a notificação.\nProduto: {product}\nOferta: {offer}\nPúblico: novos clientes"
    reference = {"product": product, "offer": offer}
    return score_rollout(
        Rollout(prompt_id="p", task="push", prompt=prompt, completion=completion, reference=reference), None
    )


def scored(
    completion: str, spec: SpecName = "grounded", reference: dict[str, str | None] | None = None
) -> ScoredRollout:
    rollout = Rollout(
        prompt_id="p", task="push", prompt=PROMPT, completion=completion, reference=reference or dict(REFERENCE)
    )
    return score_rollout(rollout, None, spec)


def reward(completion: str, spec: SpecName = "grounded") -> float:
    return scored(completion, spec).reward


def component(name: str, completion: str, spec: SpecName = "grounded") -> float:
    return scored(completion, spec).components[name]


def test_a_good_push_earns_all() -> None:
    assert reward(GOOD) == pytest.approx(1.0)
    assert reward(OTHER.replace("esperam por", "fazem falta para")) == pytest.approx(1.0)


@pytest.mark.parametrize("flawed", [
    GOOD.replace("20%", "30%"),
    GOOD.replace("20% de desconto", "ofertas"),
    GOOD.replace("Brinquedos", "Livros"),
    GOOD.replace("Aproveite hoje", "Só"),
    GOOD + " São 50 lojas e 300 marcas.",
    f"Push: {GOOD}",
    f"**{GOOD}**",
    f"{GOOD}\n{GOOD}",
    f"Claro! Aqui está: {GOOD}",
])  # fmt: skip
def test_each_flaw_costs(flawed: str) -> None:
    assert reward(flawed) < reward(GOOD) - 0.02


@pytest.mark.parametrize("worthless", [
    "", "Desculpe, não posso criar notificações.", "I'm sorry, but I can't help with that.", PROMPT, WORDING.system,
    "[nome do produto] com [oferta]! [chamada para ação]", '{"product": null, "offer": null}',
    "desconto oferta promoção frete grátis cupom cashback aproveite confira garanta compre corra app loja",
    "brinquedos brinquedos brinquedos 20% 20% 20% desconto desconto desconto aproveite corra compre garanta",
    "Toys with 20% off! Enjoy the discount on all toys today, only in our app.",
    "Aproveite as ofertas da semana no nosso app e garanta já o seu!",
    f"{GOOD} " + "Esta é a melhor oferta do ano para a sua família inteira. " * 20,
    ABOUT,
    f"{ABOUT} Ela precisa ser curta, ter um tom próximo e convidar os clientes a abrir o aplicativo ainda hoje mesmo.",
])  # fmt: skip
def test_what_is_no_push_of_this_campaign_earns_next_to_nothing(worthless: str) -> None:
    assert reward(worthless) <= NEXT_TO_NOTHING


@pytest.mark.parametrize("two", [
    f"{GOOD}\n{GOOD}", f"{GOOD}\n{OTHER}", f"{GOOD} {GOOD}", f"1. {GOOD}\n2. {OTHER}",
    f"{GOOD}\n\nVinhos com frete grátis para o seu fim de semana. Confira!",
])  # fmt: skip
def test_two_pushes_are_not_the_one_that_was_asked_for(two: str) -> None:
    assert reward(two) <= 0.25


def test_an_offer_is_read_in_the_order_of_its_words() -> None:
    """Whether a line makes an offer must not hang on the order of a set, which differs from run to run."""
    line = "Vinhos para o seu fim de semana com a segunda unidade por metade"
    assert has_several_messages([line, line], [], read_campaign("brinquedos", "frete grátis"))


def test_a_title_over_a_push_is_one_push() -> None:
    assert reward(f"Sentimos sua falta!\n{GOOD}") > 0.8


def test_a_false_number_costs_more_than_none() -> None:
    false, none = GOOD.replace("20%", "30%"), GOOD.replace("com 20% de desconto", "baratinhos")
    assert reward(GOOD) > reward(none) > reward(false)
    assert reward(false) < 0.4


def test_a_number_of_the_segment_is_no_invention() -> None:
    assert reward("Faz 90 dias! Volte e leve brinquedos com 20% de desconto no app.") == pytest.approx(1.0)
    assert reward("Faz 80 dias! Volte e leve brinquedos com 20% de desconto no app.") <= 0.5


@pytest.mark.parametrize("same", [
    f"\n {GOOD} \n\n", GOOD.replace("20%", "20 %"), GOOD.replace("20%", "20,0%"),
    GOOD.lower(), GOOD.replace("ç", "c\u0327").replace("ã", "a\u0303"),
    GOOD.replace(" hoje", " hoje mesmo").replace("!", " 🧸!"),
])  # fmt: skip
def test_what_shoppers_would_not_mind_changes_nothing(same: str) -> None:
    assert reward(same) == pytest.approx(reward(GOOD))


def test_a_cut_push_earns_less_the_more_is_cut() -> None:
    answers = [TASK.answer(reference) for reference in (REFERENCE, {"product": "pet shop", "offer": "cupom de R$ 20"})]
    means = []
    for share in (0.25, 0.5, 0.75, 1.0):
        cut = [answer[: round(share * len(answer))] for answer in answers]
        references = (REFERENCE, {"product": "pet shop", "offer": "cupom de R$ 20"})
        means.append(sum(scored(*pair).reward for pair in _with_reference(cut, references)) / len(cut))
    assert means == sorted(means)
    assert means[0] <= 0.40
    assert means[1] <= 0.65


def _with_reference(
    completions: list[str], references: tuple[dict[str, str], ...]
) -> list[tuple[str, SpecName, dict[str, str | None]]]:
    return [
        (completion, "grounded", dict(reference)) for completion, reference in zip(completions, references, strict=True)
    ]


def test_e_mail_greeting_in_a_push() -> None:
    formal = f"Prezado cliente, {GOOD}"
    assert component("style", formal) == 0.0
    assert reward(formal) <= reward(GOOD) - 0.2
    for phrase in ("Prezada cliente,", "Prezados,", "Caro cliente,", "Informamos que:"):
        assert component("style", f"{phrase} {GOOD}") == 0.0
        assert component("formal", f"{phrase} {GOOD}", "v4.2") == 1.0
    assert component("formal", f"{GOOD} Atenciosamente, a loja.", "v4.2") == 1.0


def test_length_falls_steeply_from_120_to_200() -> None:
    for spec in PROSE:
        padded = [GOOD, *(lengthened(GOOD, size) for size in (119, 130, 150, 180, 205))]
        # A long text costs all components of `grounded`.
        costs = [component("product", text) if spec == "grounded" else 1.0 for text in padded]
        lengths = [component("length", text, spec) / cost for text, cost in zip(padded, costs, strict=True)]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[:2] == [1.0, 1.0]
        assert 0 < lengths[3] < 0.5
        assert lengths[-1] == pytest.approx(0.0, abs=0.001)


def test_the_wrong_unit_of_an_offer_costs() -> None:
    assert component("offer", "Brinquedos com R$ 20 de desconto hoje!") < 1.0
    assert component("offer", "Brinquedos com 20,0% de desconto hoje!") == 1.0


NO_INTEREST, THREE_FOR_TWO, TODAY, SUNDAY, FIFTH = (
    "até 10x sem juros", "leve 3 e pague 2", "20% de desconto só hoje", "20% de desconto até domingo",
    "20% de desconto",
)  # fmt: skip


@pytest.mark.parametrize(("offer", "false"), [
    (NO_INTEREST, "Brinquedos em até 10x com juros no app. Aproveite!"),
    (NO_INTEREST, "Brinquedos em até 12x sem juros no app. Aproveite!"),
    (THREE_FOR_TWO, "Brinquedos para a criançada: leve 2 e pague 3. Aproveite!"),
    ("leve 2 e pague 1", "Brinquedos para a criançada: leve 1 e pague 2. Aproveite!"),
    (TODAY, "Brinquedos com 20% de desconto no app. Aproveite!"),
    (TODAY, "Brinquedos com 20% de desconto até domingo. Aproveite!"),
    (SUNDAY, "Brinquedos com 20% de desconto só hoje. Aproveite!"),
    (FIFTH, "Brinquedos sem nenhum desconto de 20% no app. Aproveite!"),
    (FIFTH, "Brinquedos: não temos 20% de desconto no app. Aproveite!"),
    (FIFTH, "Brinquedos pelo preço cheio, livros com 20% de desconto. Aproveite!"),
    (FIFTH, "Chegaram os brinquedos, e os livros com 20% de desconto. Aproveite!"),
    (FIFTH, "Brinquedos no app: 20% de desconto em livros. Aproveite!"),
    ("frete grátis", "Brinquedos sem frete grátis no nosso app. Aproveite!"),
    ("R$ 25 de desconto", "Brinquedos com 25% de desconto no app. Aproveite!"),
])  # fmt: skip
def test_a_false_offer_is_no_offer(offer: str, false: str) -> None:
    result = offering(false, offer)
    assert result.components["offer"] <= 0.45
    assert result.reward <= 0.5


@pytest.mark.parametrize(("offer", "push"), [
    (NO_INTEREST, "Brinquedos em até dez vezes sem juros no app. Aproveite!"),
    (NO_INTEREST, "Parcele os brinquedos em 10 vezes sem juros no app!"),
    (THREE_FOR_TWO, "Brinquedos para a criançada: leve três e pague dois. Aproveite!"),
    (THREE_FOR_TWO, "Brinquedos para a criançada: pague 2 e leve 3. Aproveite!"),
    ("leve 2 e pague 1", "Leve dois brinquedos e pague só um no nosso app!"),
    (TODAY, "É hoje: os brinquedos estão com 20% de desconto. Aproveite!"),
    (FIFTH, "Não perca: 20% OFF nos brinquedos para a criançada. Aproveite!"),
    (FIFTH, "Não fique sem brinquedos: aproveite 20 por cento de desconto no app!"),
    (FIFTH, "Desconto de 20% em brinquedos e nada de ficar sem presente. Aproveite!"),
    ("R$ 25 de desconto", "Brinquedos com 25 reais de desconto no app. Aproveite!"),
    ("cupom de R$ 20", "Use o cupom de desconto de R$ 20,00 nos brinquedos do app!"),
])  # fmt: skip
def test_an_offer_may_be_worded_as_shoppers_do(offer: str, push: str) -> None:
    result = offering(push, offer)
    assert result.reward >= PLAIN - 0.03
    assert TASK.metric([result], None)["names_offer"] == 1.0


def test_the_right_words_earn_more_than_the_wrong_unit() -> None:
    right = [offering(f"Brinquedos com {way} no app. Aproveite!", "R$ 25 de desconto").reward
             for way in ("25 reais de desconto", "R$ 25 OFF", "R$ 25 de desconto")]  # fmt: skip
    assert min(right) > offering("Brinquedos com 25% de desconto no app. Aproveite!", "R$ 25 de desconto").reward + 0.2


@pytest.mark.parametrize(("offer", "text", "kept"), [
    (NO_INTEREST, "Brinquedos em até 10x com juros.", False),
    (NO_INTEREST, "Brinquedos em até 10x sem juros.", True),
    (THREE_FOR_TWO, "Brinquedos: leve 2 e pague 3.", False),
    (THREE_FOR_TWO, "Brinquedos: leve 3, pague 2.", True),
    (TODAY, "Brinquedos com 20% de desconto.", False),
    (TODAY, "Só hoje, brinquedos com desconto de 20%.", True),
    (SUNDAY, "Brinquedos com 20% de desconto só hoje.", False),
    (FIFTH, "Brinquedos sem nenhum desconto de 20%.", False),
    (FIFTH, "Brinquedos pelo preço cheio, livros com 20% de desconto.", False),
    (FIFTH, "Brinquedos com R$ 20 de desconto.", False),
    ("frete grátis acima de R$ 99", "Brinquedos com frete grátis a partir de R$ 99.", True),
    ("frete grátis acima de R$ 99", "Brinquedos com frete grátis.", False),
])  # fmt: skip
def test_the_metric_knows_an_offer_by_itself(
    offer: str, text: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout = offering(text, offer)
    monkeypatch.setattr(
        "tasks.commerce.push.scorer.grade_offer", lambda *_: pytest.fail("the reward's scorer was asked")
    )
    assert TASK.metric([rollout], None)["names_offer"] == float(kept)


def test_the_metric_takes_every_campaigns_answer_for_its_offer() -> None:
    for offer in OFFERS:
        completion = TASK.answer({"product": "livros técnicos", "offer": offer})
        result = offering(completion, offer, "livros técnicos")
        assert result.reward == pytest.approx(1.0), completion
        assert TASK.metric([result], None)["all_kept"] == 1.0, completion


@pytest.mark.parametrize("salad", [
    "Brinquedos desconto 20% de o para com aproveite corra!",
    "brinquedos 20% de desconto de o para com aproveite!",
    "Produto brinquedos, oferta de 20% de desconto, público de clientes: aproveite!",
])  # fmt: skip
def test_words_thrown_together_are_no_push(salad: str) -> None:
    assert reward(salad) <= 0.25


def test_an_invented_offer_costs_like_an_invented_number() -> None:
    for invented in ("e frete grátis pra todo o Brasil", "e um brinde na primeira compra", "e com cashback na volta"):
        text = f"Brinquedos com 20% de desconto {invented}! Aproveite no app."
        assert reward(text) <= 0.55
    assert offering("Brinquedos com frete grátis para a criançada! Aproveite.", "frete grátis").reward == 1.0


@pytest.mark.parametrize(("text", "worth"), [
    ("Desculpe a demora: seus brinquedos chegaram com 20% de desconto!", 0.7),
    ("Aqui o cliente manda: brinquedos com 20% de desconto. Aproveite!", PLAIN),
    ("Sua recompra merece brinquedos com 20% de desconto. Aproveite!", 0.7),
    ("Mude a disposição da sala: brinquedos com 20% de desconto. Aproveite!", PLAIN),
    ("Está claro, os brinquedos com 20% de desconto são seus. Aproveite!", PLAIN),
    ("A criançada vai adorar a novidade!\nBrinquedos com 20% de desconto. Aproveite hoje no app.", 1.0),
])  # fmt: skip
def test_good_pushes_that_resemble_bad_ones_earn_what_they_are_worth(text: str, worth: float) -> None:
    assert reward(text) >= worth


@pytest.mark.parametrize("marked", [
    "{} {{}}", "{} <!-- Sim. -->", "/* ok */\n{}",
    "{} []", "{} ()", "{} <br>", "{} // fim", "`{}`", "## Resumo\n{}", "**{}**", '"{}"',
    "{} 20", '{} ""', "{} &nbsp;",
])  # fmt: skip
def test_markup_and_brackets_with_nothing_in_them_cost_half(marked: str) -> None:
    assert reward(marked.format(GOOD)) <= 0.5 * reward(GOOD)


def test_words_in_brackets_are_no_markup() -> None:
    assert reward(GOOD.replace("!", " (oba)!")) == reward(GOOD)


def test_the_singular_of_a_short_word_names_the_product() -> None:
    assert offering("Pá nova com 20% de desconto para cuidar do jardim! Aproveite.", FIFTH, "pás").reward >= PLAIN


def test_who_declines_the_task_has_declined_it_whatever_is_named() -> None:
    assert reward("Desculpe, não posso criar um push de brinquedos com 20% de desconto.") == 0.0


def test_the_singular_names_the_product() -> None:
    push = "Seu edredom novo com 20% de desconto para este inverno. Aproveite!"
    assert offering(push, FIFTH, "edredons").reward == pytest.approx(1.0)


def test_v4_2_counts_markers_beside_punctuation() -> None:
    assert component("portuguese", "Hoje, (desconto)", "v4.2") == component("portuguese", "Hoje desconto", "v4.2")


@pytest.mark.parametrize(("text", "shown"), [
    ("Olá", 3), ("Ola\u0301", 3), ("\U0001f44d\U0001f3fd", 1), ("\U0001f468\u200d\U0001f469\u200d\U0001f467", 1),
    ("\U0001f1e7\U0001f1f7", 1), ("\U0001f1e7\U0001f1f7\U0001f1f5\U0001f1f9", 2), ("oi \U0001f600!", 5), ("", 0),
    ("a\r\nb", 3), ("1\ufe0f\u20e3", 1), ("❤\ufe0f\u200d🔥", 1), ("\U0001f3f4\U000e0067\U000e0062\U000e007f", 1),
    ("z\u0300\u0301\u0302\u0303", 1), ("a\u0300" * FAR_TOO_LONG, 2 * FAR_TOO_LONG),
])  # fmt: skip
def test_length_is_what_a_phone_shows(text: str, shown: int) -> None:
    assert graphemes(text) == shown


def test_v4_2_knows_no_reference_and_pays_its_four_parts() -> None:
    assert reward(GOOD, "v4.2") == pytest.approx(1.0)
    assert reward(GOOD.replace("20%", "90%"), "v4.2") == pytest.approx(1.0)
    assert reward(f"Prezado cliente, {GOOD}", "v4.2") == pytest.approx(0.8)
    assert reward("", "v4.2") == 0.0
    assert component("creativity", "Confira as ofertas: oportunidade única para a sua casa!", "v4.2") == 0.25
    marks = [component("portuguese", text, "v4.2") for text in ("Toys", "Só toys", "Só toys já", "Só três: corra")]
    assert marks == sorted(marks)
    assert marks[0] == 0.0 < marks[1] < marks[-1] == 1.0


def test_the_metric_is_the_rate_of_each_constraint_under_either_spec() -> None:
    texts = (GOOD, f"Prezada cliente, {GOOD}", "Oi", "a" * 130)
    for spec in SPEC_NAMES:
        assert TASK.metric([scored(text, spec) for text in texts], None) == {
            "within_length": 0.75,
            "names_product": 0.5,
            "names_offer": 0.5,
            "nothing_added": 1.0,
            "informal": 0.75,
            "in_portuguese": 1.0,
            "one_message": 1.0,
            "all_kept": 0.25,
        }
    assert TASK.metric([scored(f"{GOOD}\n{OTHER}")], None)["one_message"] == 0.0
    assert TASK.metric([], None) == {}


def test_what_is_not_known_is_not_scored() -> None:
    unknown: dict[str, str | None] = {"product": None, "offer": None}
    assert scored(GOOD, "grounded", unknown).reward == pytest.approx(1.0)
    bare = Rollout(prompt_id="p", task="push", prompt=PROMPT, completion=GOOD)
    assert score_rollout(bare, None).reward == pytest.approx(1.0)


def test_a_hundred_thousand_prompts_are_all_different(store: Store) -> None:
    count = 100_000
    prompts = {example.prompt for example in push_prompts.examples(store, random.Random(1), count)}
    assert len(prompts) == count


def test_every_reference_answer_of_a_campaign_is_a_full_push(store: Store) -> None:
    for example in push_prompts.examples(store, random.Random(2), 500):
        rollout = Rollout(
            prompt_id="p",
            task="push",
            prompt=example.prompt,
            completion=TASK.answer(example.reference),
            reference=dict(example.reference),
        )
        assert score_rollout(rollout, None).reward == pytest.approx(1.0)


@pytest.mark.parametrize("spec", SPEC_NAMES)
@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=300), st.lists(st.sampled_from([GOOD, "\r\n", "\u200f", "\u0301", "9"])).map("".join)
    )
)
def test_no_string_raises(spec: SpecName, text: str) -> None:
    result = scored(text, spec)
    assert 0 <= result.reward <= 1
    assert all(0 <= value <= 1 for value in result.components.values())
