"""Quotas of a project, read before anything is applied, by answers as Google's interfaces give them."""

from typing import Any

import pytest

from flows.l4.quotas import COMPUTE, ON_DEMAND, SPOT, USAGE, VERTEX, Quota, l4_quotas, require_quotas
from schemas.errors import InputError
from tests.cases import cases_of

REGION = "europe-west4"
CASES = cases_of(__file__)


def google(everywhere: float = 0, spot: float = 0, standard: float = 0, used: float = 0, **vertex: str) -> Any:
    """Return a seam that answers as Google does; limits of Vertex AI by region, and by `every` for all others."""

    def quota(metric: str, limit: float) -> dict[str, Any]:
        return {"metric": metric, "limit": limit, "usage": used}

    buckets = [
        # A limit of 0 is left out, as protobuf's JSON leaves it.
        ({"effectiveLimit": limit} if limit != "0" else {})
        | ({} if place == "every" else {"dimensions": {"region": place.replace("_", "-")}})
        for place, limit in vertex.items()
    ]

    def get(url: str) -> dict[str, Any]:
        if url == f"{COMPUTE}/p":
            return {"quotas": [quota("GPUS_ALL_REGIONS", everywhere), quota("NETWORKS", 5)]}
        if url == f"{COMPUTE}/p/regions/{REGION}":
            return {"quotas": [quota(SPOT, spot), quota(ON_DEMAND, standard), quota("CPUS", 24)]}
        kind = url.rpartition("%2F")[2]
        assert url == f"{USAGE}/p/services/{VERTEX}/consumerQuotaMetrics/{VERTEX}%2F{kind}"
        return {"metric": f"{VERTEX}/{kind}", "consumerQuotaLimits": [{"quotaBuckets": buckets}]}

    return get


def lacking(quotas: list[Quota]) -> list[str]:
    return [quota.name for quota in quotas if quota.lacks]


# One that a machine has already leaves none; without a quota of its own a Spot machine counts as one on demand.
@pytest.mark.parametrize(("limits", "on_demand", "names"), CASES["a_group_needs"])
def test_a_group_needs_an_l4_in_the_region_and_one_in_all_together(
    limits: dict[str, Any], on_demand: bool, names: list[str]
) -> None:
    assert lacking(l4_quotas("p", REGION, google(**limits), on="group", on_demand=on_demand)) == names


@pytest.mark.parametrize(("limits", "lacks"), CASES["a_job_needs"])
def test_a_job_of_vertex_ai_has_quotas_of_its_own(limits: dict[str, Any], lacks: bool) -> None:
    quotas = l4_quotas("p", REGION, google(everywhere=9, spot=9, standard=9, **limits), on="vertex")
    assert bool(lacking(quotas)) == lacks


def test_what_lacks_is_said_at_once_with_what_to_ask_for() -> None:
    with pytest.raises(InputError) as refused:
        require_quotas(l4_quotas("p", REGION, google(), on="group"))
    ask = "is 0; ask for 1 in the console under IAM & Admin, Quotas, a day or two before"
    both = f"quota GPUS_ALL_REGIONS in all regions together {ask}; and quota {SPOT} in {REGION} {ask}"
    assert str(refused.value) == both
    with pytest.raises(InputError, match=f"Google names no quota {SPOT} for p in {REGION}; choose a region with L4s"):
        l4_quotas("p", REGION, lambda _: google()(f"{COMPUTE}/p"), on="group")
