"""Decision on a training by its plan: shown, asked about where it costs money, and carried out."""

from collections.abc import Collection
from dataclasses import replace
from math import ceil
from pathlib import Path

from flows.plan.prices import WORTH, confirmed, has_price, is_asking
from flows.runtime.console import say
from flows.runtime.runs import is_recorded, log, show_markdown
from flows.stages.runner import Results, Session
from flows.stages.train import entry_modules, key_inputs, training_seeds
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError
from schemas.source import source_digest
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from schemas.tasks import TaskName
from tasks.plan.training_plan import TrainingPlan


def decided(session: Session, given: Results, plan: TrainingPlan | None) -> Session:
    """Show a plan and return the session of the training: of all tasks, or of those that are worth it.

    Where the configuration wants these alone and there are none, the model after its warm start goes on untrained;
    GateRefused where it had none. InputError where a person says no. What is trained already is not asked about.
    """
    if plan is None:
        return session
    config, wants_worth = session.config, session.config.train.tasks == WORTH
    ways = "".join(f"; {way}" for way in plan.commands)
    if wants_worth and not plan.worth and not config.warm_start.steps:
        show_plan(plan)
        raise GateRefused(f"no task has room for {plan.algorithm.upper()} that this test split could show{ways}")
    chosen = session
    if wants_worth:
        chosen = replace(session, config=narrowed(config, given["dataset"].path, plan.worth))
    if not is_recorded() or _is_trained(chosen, given):
        return chosen
    show_plan(plan)
    if is_asking():
        no = f"nothing was trained, and the cheap ways are kept{ways}; or answer yes next time"
        ask_to_train(plan, config, chosen.config, no)
    return chosen


def ask_to_train(plan: TrainingPlan, asked: Config, chosen: Config, no: str) -> None:
    """Ask a person at a terminal before a training that costs money; InputError in the words of `no` where they refuse.

    `asked` is the configuration that was given, and `chosen` what the plan made of it.
    """
    price = plan.price_of_worth if asked.train.tasks == WORTH else plan.price
    free = not (has_price(chosen) and chosen.train.max_steps)
    if not free and not confirmed(f"Train with {plan.algorithm.upper()} for {price}?"):
        raise InputError(no)


def show_plan(plan: TrainingPlan) -> None:
    """Print a plan, and show it on the run's page."""
    lines, rows = plan.table(), len(plan.tasks) + 1
    for line in lines:
        say(line)
        log(line)
    text = "\n".join(["```text", *lines[:rows], "```", *(f"\n{sentence}" for sentence in lines[rows:])])
    show_markdown(key="training-plan", markdown=text, description="Is the training worth it?")


def narrowed(config: Config, dataset: Path, tasks: Collection[TaskName]) -> Config:
    """Return the configuration of a training of some tasks, with as many steps as keep its epochs: 0 for no task."""
    of_prompts = read_prompt_table(dataset / TRAIN_FILE)["task"].to_list()
    trained = [task for task in of_prompts if task in tasks]
    if len(trained) == len(of_prompts):
        return config.model_copy(update={"train": config.train.model_copy(update={"tasks": "all"})})
    steps = ceil(config.train.max_steps * len(trained) / len(of_prompts))
    recipe = config.train.model_copy(update={"tasks": tuple(tasks) or "all", "max_steps": steps})
    return config.model_copy(update={"train": recipe})


def ways(config: Config, dataset: Path, plan: TrainingPlan) -> tuple[str, ...]:
    """Return how to have what a plan recommends, where the configuration has something else."""
    steps = config.train.max_steps
    if plan.worth and (not steps or len(plan.worth) < len(plan.tasks)):
        return (f"`{'' if steps else '--set train.max_steps=N '}--set train.tasks=worth` trains those alone",)
    if not steps or plan.worth or all(each.learner != "SFT" for each in plan.tasks.values()):
        return ()
    tuning, rows = config.evaluate.sft, read_prompt_table(dataset / TRAIN_FILE).height
    like = {"steps": tuning.steps(config.train.sampled_completions, rows)}
    like |= tuning.model_dump(include={"batch_size", "accumulation", "learning_rate"})
    asked = "".join(f"--set warm_start.{name}={value} " for name, value in like.items())
    return (f"`{'' if config.warm_start.steps else asked}--set train.max_steps=0` ends with SFT",)


def _is_trained(session: Session, given: Results) -> bool:
    """Return whether all that would be trained is there."""
    config, made_from = session.config, {(role, each.record.sha256) for role, each in given.items() if role != "audit"}
    code = source_digest(*entry_modules(config))
    known = {
        record.config_digest
        for record in session.store.records("policy")
        if record.code_version == code and made_from <= record.inputs.items()
    }
    return session.fresh is None and {key_inputs(config, seed) for seed in training_seeds(config)} <= known
