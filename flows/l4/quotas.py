"""Quotas that stand between a Google project and its first L4, each in one sentence; a new project has none of them.

The instance group's are Compute Engine's, of the region and of all regions together; a job of Vertex AI has its own.
https://cloud.google.com/compute/resource-usage and https://cloud.google.com/vertex-ai/docs/quotas
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, Literal
from urllib.parse import quote

from schemas.errors import InputError

Get = Callable[[str], Any]
"""Returns the JSON at an address of Google's, and raises `InputError` where it is refused."""
On = Literal["vertex", "group"]

COMPUTE: Final = "https://compute.googleapis.com/compute/v1/projects"
USAGE: Final = "https://serviceusage.googleapis.com/v1beta1/projects"
VERTEX: Final = "aiplatform.googleapis.com"
ALL_REGIONS, SPOT, ON_DEMAND = "GPUS_ALL_REGIONS", "PREEMPTIBLE_NVIDIA_L4_GPUS", "NVIDIA_L4_GPUS"
VERTEX_SPOT, VERTEX_ON_DEMAND = (
    "custom_model_training_preemptible_nvidia_l4_gpus",
    "custom_model_training_nvidia_l4_gpus",
)
UNLIMITED: Final = -1


@dataclass(frozen=True)
class Quota:
    """Most L4s that a project may have by one quota."""

    name: str
    place: str
    """The region, or words for all of them."""
    limit: float
    used: float = 0.0
    is_needed: bool = True
    """Whether nothing runs without it; by another one only what Spot lacks would."""

    @property
    def lacks(self) -> bool:
        """Return whether nothing runs for want of it."""
        return self.is_needed and self.limit - self.used < 1

    @property
    def sentence(self) -> str:
        """Say what the quota leaves, and what to ask for where that is nothing."""
        limit = "no limit" if self.limit == inf else f"{self.limit:g}"
        found = f"quota {self.name} in {self.place} is {limit}" + f", {self.used:g} in use" * bool(self.used)
        if self.limit - self.used >= 1:
            return found
        return f"{found}; ask for {self.used + 1:g} in the console under IAM & Admin, Quotas, a day or two before"


def l4_quotas(project: str, region: str, get: Get, *, on: On, on_demand: bool = False) -> list[Quota]:
    """Return the quotas for one L4: on Spot, or also on demand.

    Raises:
        InputError: The project or the region is not there, an interface is off, or the account may not look.
    """
    if on == "vertex":
        limits = {metric: _vertex_limit(project, region, metric, get) for metric in (VERTEX_SPOT, VERTEX_ON_DEMAND)}
        spot, standard = (Quota(f"{VERTEX}/{metric}", region, limit) for metric, limit in limits.items())
        return [spot, replace(standard, is_needed=on_demand)]
    everywhere = _compute(get(f"{COMPUTE}/{quote(project)}"), "all regions together")
    there = _compute(get(f"{COMPUTE}/{quote(project)}/regions/{quote(region)}"), region)
    for name, found in ((ALL_REGIONS, everywhere), (SPOT, there), (ON_DEMAND, there)):
        if name not in found:
            raise InputError(f"Google names no quota {name} for {project} in {region}; choose a region with L4s")
    # A project without a quota for Spot takes a Spot machine from that for machines on demand.
    spot_is_needed = there[ON_DEMAND].limit < 1 or there[SPOT].limit >= 1
    spot, standard = replace(there[SPOT], is_needed=spot_is_needed), there[ON_DEMAND]
    return [everywhere[ALL_REGIONS], spot, replace(standard, is_needed=on_demand or not spot_is_needed)]


def _compute(document: Mapping[str, Any], place: str) -> dict[str, Quota]:
    quotas = ((each["metric"], each["limit"], each["usage"]) for each in document.get("quotas", ()))
    return {name: Quota(name, place, float(limit), float(used)) for name, limit, used in quotas}


def _vertex_limit(project: str, region: str, metric: str, get: Get) -> float:
    """Return the limit of a region: its own, or else that of every region without one."""
    name = quote(f"{VERTEX}/{metric}", safe="")
    found = get(f"{USAGE}/{quote(project)}/services/{VERTEX}/consumerQuotaMetrics/{name}")
    limits = {
        bucket.get("dimensions", {}).get("region"): float(bucket.get("effectiveLimit", 0))
        for limit in found.get("consumerQuotaLimits", ())
        for bucket in limit.get("quotaBuckets", ())
    }
    limit = limits.get(region, limits.get(None, 0.0))
    return inf if limit == UNLIMITED else limit


def require_quotas(quotas: Iterable[Quota]) -> None:
    """Refuse to apply or start anything for which a quota is lacking, each in a sentence."""
    if lacking := [quota.sentence for quota in quotas if quota.lacks]:
        raise InputError("; and ".join(lacking))
