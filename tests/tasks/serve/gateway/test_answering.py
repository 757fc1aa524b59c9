"""No personal data reaches a file or a log message on any way of asking, and nothing is answered that is not logged."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chat_server import Reply, says, serve
from tests.gateway import RIGHT, Gateway, running, says_right, wait_for

CPF = "529.982.247-25"
TEXT = f"Sou o {CPF}, chegou quebrado"


def _of_task(gateway: Gateway) -> httpx.Response:
    return gateway.ask(TEXT)


def _of_chat(gateway: Gateway) -> httpx.Response:
    return gateway.chat(TEXT)


def _of_stream(gateway: Gateway) -> httpx.Response:
    return gateway.chat(TEXT, stream=True)


def _of_conversation(gateway: Gateway) -> httpx.Response:
    turns = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": TEXT}]
    return gateway.chat(messages=[*turns, {"role": "user", "content": TEXT}], stream=True)


WAYS = [_of_task, _of_chat, _of_stream, _of_conversation]
ROLES: dict[str, dict[str, Any]] = {
    "champion": {},
    "challenger": {"challenger": {"version": "2", "share": 1.0}},
    "shadow": {"challenger": {"version": "2", "shadow": True}},
    "larger": {"refuse": ["sentiment"]},
}

Way = Callable[[Gateway], httpx.Response]


def _written(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ROLES)
def test_personal_data_of_prompt_and_answer_is_in_no_file_and_no_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, role: str, way: Way
) -> None:
    with serve(lambda message, number: says(f"meu CPF é {CPF}", "stop")) as other:
        larger: dict[str, Any] = {"larger": {"url": f"{other.url}/v1", "model": "large"}} if role == "larger" else {}

        def play(message: str, number: int) -> Reply:
            return Reply(b"", status=500) if number == 0 else says(f"meu CPF é {CPF}", "stop")

        with running(tmp_path, play, **ROLES[role], **larger) as gateway:
            assert way(gateway).is_success
            wait_for(lambda: role in {line["role"] for line in gateway.logged()})
            for line in gateway.logged():
                assert line["prompt"].startswith("Sou o [CPF]") or "[CPF]" in line["prompt"]
                assert line["completion"] == "meu CPF é [CPF]"
    assert CPF not in _written(tmp_path)
    assert CPF not in caplog.text


def test_an_identity_of_a_prompt_cannot_be_searched_for_personal_data(tmp_path: Path) -> None:
    with running(tmp_path, says_right) as gateway:
        for number in (CPF, "111.444.777-35"):
            gateway.chat(f"Sou o {number}")
            gateway.chat(messages=[{"role": "user", "content": f"Sou o {number}"}, {"role": "user", "content": "Ruim"}])
        identities = [line["prompt_id"] for line in gateway.logged()]
    assert identities[:2] == identities[2:]


def test_personal_data_of_feedback_is_in_no_file(tmp_path: Path) -> None:
    with running(tmp_path, says_right) as gateway:
        known = {"request_id": f"push-{'0' * 32}", "reference": {"product": f"fone de {CPF}", "offer": None}}
        assert gateway.http.post("/v1/feedback", json=known).status_code == 204
    assert "fone de [CPF]" in _written(tmp_path / "feedback")
    assert CPF not in _written(tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ("champion", "challenger", "larger"))
def test_nobody_has_a_whole_answer_while_the_log_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, way: Way
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with serve(says_right) as other:
        larger: dict[str, Any] = {"larger": {"url": f"{other.url}/v1", "model": "large"}} if role == "larger" else {}
        with running(tmp_path, says_right, **ROLES[role], **larger) as gateway:
            monkeypatch.setattr("tasks.serve.gateway.answer_log.os.write", full)
            response = way(gateway)
            assert "tucano_unlogged_answers_total 1.0" in gateway.http.get("/metrics").text
    assert (response.status_code, response.json()["error"]["code"]) == (503, "log_unwritable")
    assert RIGHT not in response.text


def test_a_shadow_that_cannot_be_logged_is_counted_and_the_answer_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(file: int, line: bytes) -> int:
        if b'"role":"shadow"' in line:
            raise OSError(28, "No space left on device")
        return real(file, line)

    real = os.write
    monkeypatch.setattr("tasks.serve.gateway.answer_log.os.write", write)
    with running(tmp_path, says_right, **ROLES["shadow"]) as gateway:
        assert gateway.ask().is_success
        wait_for(lambda: "tucano_shadows_left_out_total 1.0" in gateway.http.get("/metrics").text)
        assert [line["role"] for line in gateway.logged()] == ["champion"]
