"""Models of the engine in memory: the weights, and their sum with each adapter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.errors import InputError
from schemas.progress import Progress
from tasks.policy.batch import longest_sequence
from tasks.policy.continuous import ContinuousEngine
from tasks.policy.load import load_policy, load_tokenizer
from tasks.policy.unpacked import engine_draws
from tasks.serve.local_engine.request import LocalEngineRequest
from tasks.serve.served_model import CHAMPION

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class LoadedModel:
    """Model that can be asked by its name."""

    name: str
    engine: ContinuousEngine | None
    """Draws its answers; None where transformers' `generate` does."""
    policy: Any
    """The model in the form that transformers' `generate` takes; None where the engine draws."""
    vocabulary: int
    """Tokens that it scores."""


@dataclass(frozen=True)
class LoadedModels:
    """All models, which have one tokenizer."""

    tokenizer: "PreTrainedTokenizerBase"
    models: Sequence[LoadedModel]
    longest: int
    """Tokens of the longest prompt with its answer."""
    request: LocalEngineRequest

    def named(self, name: str) -> LoadedModel | None:
        """Return the model of a name; None where there is none."""
        return next((model for model in self.models if model.name == name), None)


def load_models(request: LocalEngineRequest, progress: Progress) -> LoadedModels:
    """Load the weights and all adapters.

    Args:
        request: What is served.
        progress: Called with the models that are loaded.

    Raises:
        InputError: One cannot be read, has the champion's name, or leaves no memory for answers.
    """
    if CHAMPION in request.adapters:
        raise InputError(f"an adapter is named {CHAMPION!r}, as the weights themselves are; give it another name")
    tokenizer = load_tokenizer(request.weights)
    folders = {CHAMPION: None, **request.adapters}
    models: list[LoadedModel] = []
    longest = 0
    for number, (name, folder) in enumerate(folders.items()):
        progress(number, len(folders), f"loading {name}")
        policy: Any = load_policy(request.weights, folder, four_bit=False)
        longest = longest_sequence(policy, request.rows * len(folders))
        if longest <= request.max_tokens:
            raise InputError(
                f"this machine has memory for {longest} tokens in each of {request.rows} answers of {len(folders)} "
                f"models at once, and one answer may take {request.max_tokens}; draw fewer at once"
            )
        engine = None
        if engine_draws(policy):
            engine = ContinuousEngine(policy, rows=request.rows, longest=longest, ends={tokenizer.eos_token_id})
        vocabulary = policy.get_output_embeddings().weight.shape[0]
        models.append(LoadedModel(name, engine, None if engine else policy, vocabulary))
    progress(len(folders), len(folders), "loaded")
    return LoadedModels(tokenizer, models, longest, request)
