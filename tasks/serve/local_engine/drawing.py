"""Thread in which all models draw: between two tokens new answers join, and those that nobody waits for leave."""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from schemas.errors import InputError
from tasks.policy.continuous import ContinuousEngine, DrawnRow
from tasks.policy.generate import generate, read_completion
from tasks.serve.local_engine.asked import AskedAnswer, Heard
from tasks.serve.local_engine.loaded import LoadedModels
from tasks.serve.local_engine.refusal import RefusedRequest

PROMPT_TOKENS: Final = 512
"""Tokens of prompts computed between two steps, beyond which others wait: so long those that are drawn stand still."""
SECONDS_TO_END: Final = 5
_LOG: Final = logging.getLogger(__name__)


class Drawing:
    """The thread, and the answers that it draws."""

    def __init__(self, loaded: LoadedModels, died: Callable[[], object]) -> None:
        """Start it.

        Args:
            loaded: The models, which it alone uses from now on.
            died: Called in it where an error ends it.
        """
        self.error: Exception | None = None
        """What ended it; None while it is well."""
        self._loaded = loaded
        self._died = died
        self._inbox: queue.SimpleQueue[AskedAnswer | None] = queue.SimpleQueue()
        self._waiting: deque[AskedAnswer] = deque()
        self._drawn: dict[DrawnRow, AskedAnswer] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="drawing", daemon=True)
        self._thread.start()

    def ask(self, answer: AskedAnswer) -> None:
        """Have an answer drawn as soon as there is room."""
        self._inbox.put(answer)
        if self.error is not None:
            self._refuse_all()

    def close(self) -> None:
        """End it; what is still drawn is given up. A whole answer of transformers is not waited for."""
        self._closed = True
        self._inbox.put(None)
        self._thread.join(SECONDS_TO_END)

    def _run(self) -> None:
        try:
            while not self._closed:
                self._listen()
                self._forget_gone()
                self._admit()
                self._step()
        except Exception as error:  # noqa: BLE001 - whoever asked must hear of it, and the process ends with it
            _LOG.exception("the engine cannot go on")
            self.error = error
            self._refuse_all()
            self._died()

    def _listen(self) -> None:
        """Take what was asked meanwhile; wait for it where there is nothing to do."""
        while not self._closed and not (self._inbox.empty() and (self._drawn or self._waiting)):
            asked = self._inbox.get()
            if asked is not None:
                self._waiting.append(asked)

    def _forget_gone(self) -> None:
        for row, asked in list(self._drawn.items()):
            if asked.gone:
                del self._drawn[row]
                _engine_of(asked).leave(row)

    def _admit(self) -> None:
        computed = 0
        while self._waiting and len(self._drawn) < self._loaded.request.rows and computed < PROMPT_TOKENS:
            asked = self._waiting.popleft()
            if asked.gone:
                continue
            if asked.model.engine is None:
                self._draw_whole(asked)
                return
            self._drawn[asked.row] = asked
            asked.model.engine.join(asked.row)
            self._tell(asked.row)
            computed += len(asked.row.prompt)

    def _step(self) -> None:
        for model in self._loaded.models:
            for row in model.engine.step() if model.engine else ():
                self._tell(row)

    def _tell(self, row: DrawnRow) -> None:
        asked = self._drawn[row]
        if row.ended:
            del self._drawn[row]
        if row.fault is not None:
            asked.tell(Heard(refused=RefusedRequest(row.fault)))
        elif row.ended:
            asked.tell(Heard(read_completion(row.drawn, self._loaded.tokenizer)))

    def _draw_whole(self, asked: AskedAnswer) -> None:
        """Draw an answer by transformers' `generate`."""
        try:
            (completion,) = generate(
                asked.model.policy,
                self._loaded.tokenizer,
                [asked.conversation],
                temperature=asked.temperature,
                max_tokens=asked.row.most,
                batch_size=1,
                seed=asked.seed,
                grammars=[asked.grammar],
            )
        except InputError as error:
            asked.tell(Heard(refused=RefusedRequest(str(error))))
        else:
            asked.tell(Heard(completion=completion))

    def _refuse_all(self) -> None:
        under_way = [*self._drawn.values(), *self._waiting]
        self._drawn.clear()
        self._waiting.clear()
        with suppress(queue.Empty):
            while True:
                asked = self._inbox.get_nowait()
                under_way += [asked] if asked else []
        for asked in under_way:
            asked.tell(Heard(refused=RefusedRequest("the engine has failed, and is about to end; ask again", 503)))


def _engine_of(asked: AskedAnswer) -> ContinuousEngine:
    if asked.model.engine is None:
        raise TypeError("it is drawn by transformers")
    return asked.model.engine
