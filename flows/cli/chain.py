"""Run of the chain by a command: at once where nothing is to do, else with Prefect, whose server starts meanwhile."""

from typing import TYPE_CHECKING, Final

from flows.cli.costs import confirm_costs
from flows.cli.options import LOOKED
from flows.doctor.run import require_ready
from flows.runtime.console import say
from flows.runtime.session import BYTES_NEEDED, has_server, prefect_folder, recorded, session
from flows.runtime.signals import fresh_hint, interruptible
from flows.runtime.stores import open_recorder
from schemas.config.config import Config
from schemas.source import source_digest
from tasks.train.sizing.fit import refuse_unfit

if TYPE_CHECKING:
    from flows.stages.retraining import Retraining, Until

READ_AHEAD: Final = (
    "tasks.synthesize.stage",
    "tasks.curate.stage",
    "tasks.audit.stage",
    "tasks.train.sft.warm_start",
    "flows.stages.evaluate",
    "flows.stages.promote",
)


def run_chain(config: Config, profile: str, opening: str, *, until: "Until", fresh: bool, yes: bool) -> "Retraining":
    """Run the chain up to a stage, in a session of its own.

    Args:
        config: The configuration.
        profile: The profile that it is from, for the run's tags.
        opening: First line on the terminal.
        until: The last stage.
        fresh: Make every stage again.
        yes: Do not ask whether to spend what it costs.

    Raises:
        TucanoError: This machine lacks what the run needs, or a stage failed in a way that its user can fix.
    """
    say(opening)
    refuse_unfit(config)
    known_before = not fresh and _has_results(config)
    if not known_before:
        # Before the state folder is made.
        _require_ready(config, profile, yes=yes)
    with fresh_hint(fresh), session(config, bytes_needed=BYTES_NEEDED):
        if known_before:
            if not has_server() and config.workers.training is None:
                # Prefect reads the session's settings when it is imported.
                from flows.retrain import unchanged  # noqa: PLC0415

                known = unchanged(config, until)
                if known is not None:
                    return known
            _require_ready(config, profile, yes=yes)
        with recorded(config, meanwhile=lambda: warm_up(config)):
            from flows.retrain import retrain  # noqa: PLC0415
            from flows.runtime.run_page import tagged  # noqa: PLC0415

            with tagged(profile, config.seed):
                return retrain(config, fresh=fresh, until=until)


def _require_ready(config: Config, profile: str, *, yes: bool) -> None:
    """Refuse what cannot come to its end here, and what is not worth its price to the person who asked for it."""
    with interruptible(LOOKED):
        require_ready(config, profile)
        confirm_costs(config, yes=yes)


def _has_results(config: Config) -> bool:
    """Return whether an earlier run finished a stage in the state folder."""
    return any((prefect_folder(config.state.root) / "storage").glob("*"))


def warm_up(config: Config) -> None:
    """Import the chain, read the code that its keys are made of, and open MLflow's store.

    Twelve seconds on two cores, mostly imports.

    Raises:
        InputError: The store cannot be opened or written.
    """
    # Prefect reads the session's settings when it is imported.
    import flows.retrain  # noqa: F401, PLC0415
    from flows.stages.train import entry_modules  # noqa: PLC0415

    # Each module is read once per process: with these, nearly all that the stages' keys need.
    source_digest(*READ_AHEAD, *entry_modules(config))
    open_recorder(config)
