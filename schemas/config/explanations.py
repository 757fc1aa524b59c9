"""Explanations of a configuration's faults: what was meant by an unknown key, and which keys were removed."""

from collections.abc import Iterator
from typing import Any, Final, get_args

from schemas.config.section import Section
from schemas.faults import did_you_mean

REMOVED: Final = {
    "sql_schema": "SQL prompts show all tables now, as they are served; leave it out",
    "lineage": "OpenLineage events were removed; leave it out: MLflow and the artifacts' records hold the lineage",
    "prompt_search": "the search for prompts was removed; leave it out, and use MLflow's optimize_prompts or GEPA",
    "base-prompt": "this rung was removed; leave it out, and search prompts with MLflow's optimize_prompts or GEPA",
    "cited": 'the rewards `cited` are `grounded` now; set rewards.spec = "grounded"',
    "curriculum": "shorter completions first were removed; leave it out: max_completion_tokens is of all steps",
    "baseline": "the median of a group was removed; leave it out: a completion's reward is compared with the mean",
    "block_advantages": "advantages by block were removed; leave it out: an answer has one advantage",
    "content_threshold": "conditional rewards were removed; leave it out: form counts whatever the content is",
    "paraphrase": "paraphrasing was removed; leave it out: `tucano curate` takes your own, as lines with a parent_id",
    "simulate": "simulated tasks beside own files were removed; leave it out: the others are made",
    "server_url": "a vLLM server for rollouts was removed; leave it out: vllm.enabled samples on the trainer's GPU",
    "max_merge_drift": "this limit was removed; leave it out: every merge is compared with base and adapter",
    "max_cache_ratio": "this limit was removed; leave it out: the preflight counts the tokens that the cache saves",
    "result": "an adapter kept beside the base was removed; leave it out: the warm start is merged into the base",
    "sql_turns": "second turns of SQL were removed; leave it out: a rollout has one answer, as one that is served",
    "processes": "one training on several GPUs was removed; leave it out: train a seed of train.seeds on each GPU",
    "top_p": "sampling from likely tokens alone was removed; leave it out: rollouts are drawn from all tokens",
    "top_k": "sampling from likely tokens alone was removed; leave it out: rollouts are drawn from all tokens",
    "entropy_advantages": "advantages by entropy were removed; leave it out: `entropy` has a bonus for it in the loss",
    "runner": "Dask was removed; leave curate.runner out: curate.workers processes work on the shards",
    "dask_address": "Dask was removed; leave curate.dask_address out: curate.workers processes work on the shards",
    "judge": "the judges were removed; leave it out: they decided nothing, and `tucano compare` compares any scores",
    "engine": "an engine of the gateway's own was removed; leave it out, start vLLM yourself and set serve.engine_url",
    "vllm_interpreter": "the gateway starts no vLLM any more; leave it out, start vLLM and set serve.engine_url",
    "vllm_arguments": "the gateway starts no vLLM any more; leave it out, start vLLM and set serve.engine_url",
    "larger": "another model for refused tasks was removed; leave it out, and ask it where the gateway answers 422",
    "challenger": "trials of a version were removed; leave it out: the evaluation compares it with the champion",
    "cost_per_analysis": "alarms of cost were removed; leave it out: the report of monitoring has each day's cost",
    "form_share": "scores of forms were removed; leave it out: the metric tucano_checked_answers has what holds",
    "language": "language is that of all reports now; set report.language instead",
    "seconds_to_load": "the gateway starts no engine that it waits for; leave it out",
    "rival": "rival is the list rivals now; write [[evaluate.rivals]] with a name of its own above the same fields",
}
"""What is said of keys and names that earlier versions had."""


def explain(failure: Any, section: type[Section]) -> str:
    """Explain one of pydantic's failures of a section."""
    kind, location, value = failure["type"], failure["loc"], failure["input"]
    named = location[-1] if kind == "extra_forbidden" else value
    if kind in {"extra_forbidden", "literal_error"} and isinstance(named, str) and named in REMOVED:
        return REMOVED[named]
    if kind == "extra_forbidden":
        wrong = ".".join(part for part in map(str, location) if not part.isdigit())
        return f"unknown key{did_you_mean(wrong, _dotted_keys(section))}"
    message = str(failure["msg"]).removeprefix("Value error, ")
    if kind == "value_error":
        return message
    if kind == "missing":
        return "is not set, and has no default"
    message = message.replace("Input should be", "must be")
    # A rival's section may have the key of its endpoint in the wrong place.
    unsaid = isinstance(value, (dict, list)) or "rivals" in location
    return message if unsaid else f"{message} (it is {value!r})"


def _dotted_keys(section: type[Section], way: str = "") -> Iterator[str]:
    """Yield every key: the nearest may be in another section."""
    for name, field in section.model_fields.items():
        yield f"{way}{name}"
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, Section):
                yield from _dotted_keys(part, f"{way}{name}.")
