"""Configuration with absolute paths, for workers in other folders."""

from pathlib import Path
from typing import Any

from schemas.config.config import Config


def absolute_config(config: Config) -> Config:
    """Return the configuration with absolute paths: a worker runs in a folder of its own."""
    values = _absolute(config.model_dump())
    state, policy = values["state"], values["policy"]
    for name in ("mirror", "artifacts"):
        state[name] = absolute_address(state[name])
    if state["mlflow"] and state["mlflow"].startswith("sqlite:///"):
        state["mlflow"] = f"sqlite:///{Path(state['mlflow'].removeprefix('sqlite:///')).absolute()}"
    # A base is a folder if a folder of that name exists, and a model of the hub otherwise.
    if Path(policy["name"]).is_dir():
        policy["name"] = str(Path(policy["name"]).absolute())
    return Config.model_validate(values)


def absolute_address(address: str | None) -> str | None:
    """Return an address that is a folder or a file as an absolute path, and any other unchanged."""
    return str(Path(address).absolute()) if address and "://" not in address else address


def _absolute(value: Any) -> Any:
    if isinstance(value, Path):
        # Not resolved: a virtual environment's interpreter is a symbolic link.
        return value.absolute()
    if isinstance(value, dict):
        return {key: _absolute(each) for key, each in value.items()}
    return value
