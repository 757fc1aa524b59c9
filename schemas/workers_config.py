"""The configuration of who does what: the deployments that a run hands work to, and where it tells of its lineage."""

import re
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from schemas.section import Section

_HOST: Final = re.compile(r"([\w.-]+|\[[\da-fA-F:.]+\])(:\d*)?")
_WRONG: Final = "openlineage is neither a file nor http(s)://HOST; correct the address"


class WorkersConfig(Section):
    """Work that a run hands to another machine."""

    training: str | None = Field(default=None, pattern=r"^[^/]+/[^/]+$")
    """The Prefect deployment that trains, as FLOW/DEPLOYMENT, such as `training/train`; where not set, the run trains
    by itself. Its machine reads and writes artifacts where `state.artifacts` says."""


class LineageConfig(Section):
    """Who is told of the lineage besides MLflow and the artifacts' own records."""

    openlineage: str | None = None
    """Where OpenLineage events go: a file, or the address of an endpoint, such as `http://localhost:5000/api/v1/lineage`;
    nowhere where not set. An endpoint's key is read from OPENLINEAGE_API_KEY."""
    namespace: str = Field(default="tucano2-commerce", pattern=r"^[\w./:-]+$")
    """The namespace of the events' jobs and datasets."""

    @field_validator("openlineage")
    @classmethod
    def _is_a_file_or_an_endpoint_without_a_password(cls, address: str | None) -> str | None:
        if address is None:
            return None
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            raise ValueError(_WRONG) from None
        if parts.scheme in {"http", "https"}:
            if "@" in parts.netloc:
                raise ValueError("openlineage holds a password; leave it out, and set OPENLINEAGE_API_KEY instead")
            if not _HOST.fullmatch(parts.netloc) or port == 0:
                raise ValueError(_WRONG)
        elif not parts.path or ("://" in address and parts.scheme != "file"):
            raise ValueError(_WRONG)
        return address
