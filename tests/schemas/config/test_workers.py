"""Where OpenLineage events go: a file or an endpoint, and a slip in its address is one sentence."""

import pytest

from schemas.config.profiles import load_config
from schemas.errors import InputError


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://",
        "http:///x",
        "http:/localhost:5000",
        "http://a b",
        "http://[::1",
        "http://a:99999",
        "http://a:port",
        "https://?x",
        "gs://loja/events",
        "file://",
    ],
)
def test_a_slip_in_the_address_of_openlineage_is_reported(address: str) -> None:
    with pytest.raises(
        InputError, match=r"lineage\.openlineage: .*neither a file nor http\(s\)://HOST; correct the address"
    ):
        load_config("local", [f"lineage.openlineage={address}"])


def test_a_password_in_the_address_of_openlineage_is_refused_and_not_reported() -> None:
    with pytest.raises(InputError, match="leave it out, and set OPENLINEAGE_API_KEY") as caught:
        load_config("local", ["lineage.openlineage=https://ana:segredo@loja.example/api"])
    assert "segredo" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:5000/api/v1/lineage",
        "https://loja.example",
        "http://[::1]:5000/events?kind=run",
        "http://127.0.0.1",
        "events.jsonl",
        "folder with spaces/events.jsonl",
        "/srv/events.jsonl",
        "file:///srv/events.jsonl",
    ],
)
def test_a_file_and_an_endpoint_are_accepted(address: str) -> None:
    assert load_config("local", [f"lineage.openlineage={address}"]).lineage.openlineage == address
