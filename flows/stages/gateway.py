"""Gateway of a state folder: its champion, the engine that has its weights, the logs, and what takes over later."""

import asyncio
import logging
import signal
import socket
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import orjson
import polars as pl
import uvicorn
import uvloop

from flows.runtime.console import say, warn
from flows.runtime.session import open_registry, open_store, private_files, served_logs
from flows.runtime.signals import ENDING
from flows.stages.registered_version import VersionParts, find_served_model
from schemas.config.config import Config
from schemas.documents import Rollout
from schemas.errors import InputError, Interrupted
from schemas.json_lines import stream_json_lines
from schemas.tables.production_logs import FEEDBACK_FOLDER
from schemas.tables.prompts import TEST_FILE, read_prompts
from tasks.bag_of_words.bag import read_bags
from tasks.evaluate.answers.files import ROLLOUTS_FILE
from tasks.lineage.store.artifacts import ArtifactDamaged
from tasks.monitor.logs import scrubbed_references
from tasks.personal_data.scrub import scrub
from tasks.serve.by_hand.beside import beside
from tasks.serve.champion_watcher import follow
from tasks.serve.deployment import DeployedVersion, GoldenPrompt, check_golden, chosen
from tasks.serve.engine_client import EngineClient
from tasks.serve.gateway.answer_log import DailyFile
from tasks.serve.gateway.answering import AnswerService, Metrics
from tasks.serve.gateway.app import build_app
from tasks.serve.gateway.disconnects import impatient
from tasks.serve.gateway.limits import read_tokens
from tasks.serve.local_engine import LocalEngine
from tasks.serve.served_model import ServedModel

MORE_CONNECTIONS: Final = 64
"""Connections beyond those that wait or are answered: health, metrics, and refusals."""


def run_gateway(config: Config, number: str | None, listening: socket.socket) -> None:
    """Serve a version until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        uvloop.run(_serve(config, number, listening))
    except asyncio.CancelledError:
        raise Interrupted("interrupted before anything was served; run the same command again") from None


async def _serve(config: Config, number: str | None, listening: socket.socket) -> None:
    serve, name, loop = config.serve, config.promote.model_name, asyncio.get_running_loop()
    if (serving := asyncio.current_task()) is not None:
        # What another handler raises may be lost in a callback of the loop.
        for each in ENDING:
            loop.add_signal_handler(each, serving.cancel)
    tokens, metrics = read_tokens(serve.token_variable), Metrics()
    folder = served_logs(config)
    log = DailyFile(folder, days=serve.log_days)
    feedback = DailyFile(folder / FEEDBACK_FOLDER, days=serve.log_days)
    with private_files(config.state.root):
        deployment = await _deploy(config, number)
        answering = AnswerService(deployment, serve, log=log, scrub=_scrubbed, metrics=metrics)
        app = build_app(
            answering, serve, name, tokens=tokens, metrics=metrics, feedback=feedback, scrub_reference=_scrubbed_json
        )
        following = asyncio.create_task(_follow(config, number, answering, metrics))
        try:
            await _listen(config, app, listening, deployment.model)
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await answering.deployment.retire()
            feedback.close()
            log.close()


async def _listen(config: Config, app: Any, listening: socket.socket, model: ServedModel) -> None:
    serve = config.serve
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=impatient(serve.seconds_to_send, serve.concurrency + serve.queue + MORE_CONNECTIONS),
            ws="none",
            # A warning for each request that is no HTTP would let strangers fill the log.
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=int(serve.deadline_seconds) + 1,
            timeout_keep_alive=int(serve.seconds_to_send) + 1,
        )
    )
    address = f"http://{serve.host}:{serve.port}"
    say(f"{model.version_name} answers at {address}/v1, described on {address}/openapi.json; try it at {address}")
    say(f"answers are logged in {served_logs(config)}; Ctrl-C ends it")
    # Uvicorn raises the signal again once all requests ended, and the engine is yet to be ended.
    for number in ENDING:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, lambda *_: None)
    await server.serve(sockets=[listening])


async def _deploy(config: Config, number: str | None) -> DeployedVersion:
    """Start a version's engine, and compare its golden answers; the champion's where no number is given."""
    serve = config.serve
    model, parts = await asyncio.to_thread(find_served_model, config, number, base=False, answer_all=serve.answer_all)
    client: EngineClient | LocalEngine
    if serve.engine_url is not None:
        client = EngineClient(serve.engine_url, connections=serve.concurrency)
        # It serves the whole model by one name, whatever ours is made of.
        model = replace(model, policy=None)
    else:
        client = LocalEngine(model.weights, model.adapters, rows=serve.concurrency)
    base, bags = parts.artifacts.path(parts.policy.inputs["base"]), parts.artifacts.path(parts.evaluation.sha256)
    deployment = DeployedVersion(model, client)
    deployment.beside = beside(model, client, base, read_bags(bags), rows=serve.concurrency)
    try:
        if isinstance(client, LocalEngine):
            await client.start()
        elif not await client.is_healthy():
            raise InputError(f"no engine answers at serve.engine_url {serve.engine_url}; start it, or correct the URL")
        if (why := await deployment.try_guidance()) is not None:
            warn(f"{model.version_name} answers without grammars, for its engine cannot guide: {why}")
        if serve.golden_prompts:
            golden = await asyncio.to_thread(_golden, config, parts)
            if (check := await check_golden(deployment, golden, tolerance=serve.golden_tolerance)) is not None:
                say(
                    f"{model.version_name}: {check}; other words do not matter while the mean reward is at most "
                    f"{serve.golden_tolerance:g} lower (serve.golden_tolerance)"
                )
    except BaseException:
        await deployment.retire()
        raise
    return deployment


def _golden(config: Config, parts: VersionParts) -> list[GoldenPrompt]:
    store = open_store(config)
    try:
        answers = parts.answers()
        store.verify(answers.sha256)
    except ArtifactDamaged as error:
        raise InputError(
            f"the answers of {parts.what} at its evaluation are lost ({error}); bring them back from a backup of the "
            "state folder, or serve it unchecked with --set serve.golden_prompts=0"
        ) from None
    first: dict[str, Rollout] = {}
    for rollout in stream_json_lines(store.path(answers.sha256) / ROLLOUTS_FILE, Rollout, "answers"):
        first.setdefault(rollout.prompt_id, rollout)
    return chosen(read_prompts(store.path(parts.dataset) / TEST_FILE), first, config.serve.golden_prompts)


async def _follow(config: Config, number: str | None, answering: AnswerService, metrics: Metrics) -> None:
    """Follow the registry's champion, unless a version was named or somebody else runs the engine."""
    if number is not None or config.serve.engine_url is not None:
        return

    def find() -> str | None:
        champion = open_registry(config).holder(config.promote.model_name, config.promote.alias)
        return None if champion is None else champion.version

    serving, deploy = answering.deployment.model.number, partial(_deploy, config)
    await follow(answering, serving, find, deploy, metrics, seconds=config.serve.follow_seconds)


def _scrubbed(text: str) -> str:
    return scrub(text)[0]


def _scrubbed_json(reference: dict[str, Any]) -> dict[str, Any]:
    texts = pl.Series([orjson.dumps(reference).decode()])
    clean = scrubbed_references(texts, lambda each: pl.Series(each.name, [*map(_scrubbed, each)], pl.String))
    return dict(orjson.loads(clean[0]))
