import random
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from tasks.synthesize.delivery import draw_delivery
from tasks.synthesize.market import STATES, State

moments = st.datetimes(datetime.fromisoformat("2017-01-01"), datetime.fromisoformat("2018-06-30"))


@given(moments, st.sampled_from(STATES), st.floats(0, 1), st.booleans(), st.integers())
def test_what_happens_happens_in_order(moment: datetime, state: State, care: float, boleto: bool, seed: int) -> None:
    generator = random.Random(seed)
    delivery = draw_delivery(moment, state, care, by_boleto=boleto, generator=generator)
    known = [time for time in (delivery.approved, delivery.shipped, delivery.delivered) if time is not None]
    assert [moment, *known] == sorted([moment, *known])
    assert delivery.shipped is not None or delivery.delivered is None
    assert delivery.settled >= delivery.approved


@given(moments, st.integers())
def test_an_order_is_early_or_late_but_never_on_the_promised_day(moment: datetime, seed: int) -> None:
    delivery = draw_delivery(moment, STATES[0], 0.5, by_boleto=False, generator=random.Random(seed))
    if delivery.delivered is None:
        assert delivery.days_late == 0
    else:
        assert delivery.delivered.date() != delivery.promised.date()
        assert (delivery.days_late > 0) == (delivery.delivered > delivery.promised)
    assert delivery.promised.time() == datetime.min.time()


def test_careless_sellers_are_late_more_often() -> None:
    def late(care: float) -> int:
        generator = random.Random(1)
        moment = datetime.fromisoformat("2017-05-05 10:00:00")
        return sum(
            draw_delivery(moment, STATES[0], care, by_boleto=False, generator=generator).days_late > 0
            for _ in range(1000)
        )

    assert late(0.0) > 1.5 * late(1.0)
