"""Checks before a run: what would end it after minutes is said before anything is started or made."""

from collections.abc import Iterator

from flows.doctor import libraries, machine, model, profile
from flows.doctor.run import Check
from flows.runtime.session import artifacts_folder
from flows.runtime.stores import open_store
from schemas.config.config import Config
from schemas.errors import InputError


def require_ready(config: Config, profile_name: str) -> None:
    """Refuse a run that this machine cannot bring to its end: no GPU, no model, no inputs.

    Raises:
        InputError: Something is missing; the sentence names it and the remedy.
    """
    for check in _checks(config):
        faults = [finding for finding in check(config).findings if finding.verdict == "fault"]
        if faults:
            first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise InputError(
                f"profile {profile_name} cannot run here: {first.check}: {first.found}{more}; {first.remedy}; all that "
                f"is missing: tucano doctor --profile {profile_name}"
            )


def _checks(config: Config) -> Iterator[Check]:
    """Yield the checks, those first that ask no other machine."""
    yield profile.check_files
    yield machine.check_gpu
    yield libraries.check_gpu_packages
    yield libraries.check_trainer
    if not _has_base(config):
        yield model.check_model


def _has_base(config: Config) -> bool:
    """Return whether an earlier run made a base of the same model: the hub need not be asked again."""
    if not artifacts_folder(config).is_dir():
        return False
    policies = [(record.config or {}).get("policy", {}) for record in open_store(config).records("base")]
    wanted = (config.policy.name, config.policy.revision)
    return any((policy.get("name"), policy.get("revision")) == wanted for policy in policies)
