"""Loading of a policy from its folders: the base, optionally NF4-quantized, and adapters, for all tasks or for each."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import InputError
from schemas.tasks import TaskName

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

ADAPTER_FOLDER: Final = "adapter"
TASK_ADAPTERS_FOLDER: Final = "adapters"
LONGEST_REASON: Final = 160
"""Characters of a library's message that an error repeats."""


def load_tokenizer(base: Path) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a base, padding on the left as batched generation needs."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable("tokenizer", base, error) from error
    if tokenizer.vocab_size < 2:
        raise InputError(f"the tokenizer in {base} has no vocabulary; give the folder of a whole downloaded model")
    if tokenizer.chat_template is None:
        raise InputError(f"the tokenizer in {base} has no chat template; use an Instruct model or add one to it")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_base(base: Path, *, four_bit: bool) -> "PreTrainedModel":
    """Load the base's weights, optionally frozen in NF4, with a neutral generation configuration.

    The source project lost its first full run to a `temperature=0.1` in the model's own generation_config.
    """
    if (base / ADAPTER_FOLDER).is_dir():
        raise InputError(
            f"the base in {base} has an adapter beside it, as an earlier version kept it; "
            "make the base again with --fresh"
        )
    model = read_folder(base, **loading_arguments(four_bit=four_bit))
    if four_bit:
        keep_weights_trainable(model)
    return model


def read_folder(folder: Path, **loading: Any) -> "PreTrainedModel":
    """Load the weights of a model's folder with a neutral generation configuration."""
    owner = f"no model can be read from {folder}: it"
    return read_whole_model(folder, owner, lambda error: _unreadable("model", folder, error), **loading)


def read_whole_model(
    name: str | Path, owner: str, unreadable: Callable[[Exception], InputError], **loading: Any
) -> "PreTrainedModel":
    """Load a model's weights, of which none may be missing, with a neutral generation configuration.

    `unreadable` makes the error for a library's; `owner` begins the sentence on tensors that are missing.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    try:
        model, report = AutoModelForCausalLM.from_pretrained(name, output_loading_info=True, **loading)
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise unreadable(error) from error
    if lost := report["missing_keys"]:
        # They would be drawn at random, with only a warning.
        raise InputError(f"{owner} lacks {len(lost)} of its tensors, such as {min(lost)}; give a whole model")
    # Some published ones cannot be saved again: a temperature beside greedy decoding is refused.
    reset_generation_config(model)
    found: PreTrainedModel = model
    return found


def loading_arguments(*, four_bit: bool) -> dict[str, Any]:
    """Return the `from_pretrained` arguments for frozen weights: directly on the device, in its best type."""
    import torch
    from transformers import BitsAndBytesConfig

    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    arguments = {"dtype": dtype, "device_map": {"": torch.cuda.current_device() if on_gpu else "cpu"}}
    if not four_bit:
        return arguments
    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=dtype,
        # As in Unsloth, so that transformers evaluates the weights that Unsloth trains beside. A CPU only loses time.
        bnb_4bit_use_double_quant=on_gpu,
    )
    return {**arguments, "quantization_config": quantization}


def keep_weights_trainable(model: "PreTrainedModel") -> None:
    """Keep bitsandbytes from repacking a model's NF4 weights when it first generates on a CPU.

    On processors with AVX512-BF16 it would, for a kernel without gradients: the next training step would fail, and
    answers would differ from those of other processors.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False


def reset_generation_config(model: "PreTrainedModel") -> None:
    """Replace the model's generation configuration by one that only names its special tokens."""
    from transformers import GenerationConfig

    own = model.generation_config
    model.generation_config = GenerationConfig(
        pad_token_id=own.pad_token_id if own.pad_token_id is not None else model.config.pad_token_id,
        eos_token_id=own.eos_token_id if own.eos_token_id is not None else model.config.eos_token_id,
    )


def load_policy(base: Path, adapter: Path | None, *, four_bit: bool) -> "PreTrainedModel":
    """Load a base and the adapter trained on it, ready to generate."""
    model = load_base(base, four_bit=four_bit)
    return (model if adapter is None else _with_adapter(model, adapter, base)).eval()


def _with_adapter(model: "PreTrainedModel", adapter: Path, base: Path) -> "PreTrainedModel":
    import torch
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(adapter / "adapter_model.safetensors", framework="numpy") as tensors:
            saved = set(tensors.keys())
        adapted: Any = PeftModel.from_pretrained(model, adapter)
    except torch.OutOfMemoryError:
        raise
    except (OSError, ValueError, LookupError, TypeError, SafetensorError) as error:
        raise _unreadable("LoRA adapter", adapter, error) from error
    except RuntimeError:
        # Weights of another size than the base's layers.
        taken = set[str]()
    else:
        taken = get_peft_model_state_dict(adapted).keys()
    # PEFT would ignore weights of layers that the base has not, and draw those of layers that the adapter has not.
    if saved == taken:
        found: PreTrainedModel = adapted
        return found
    difference = f", such as at {min(saved ^ taken)}" if taken else ""
    raise InputError(
        f"the adapter in {adapter} is of another base than {base}: their layers differ{difference}; give the base that "
        "it was trained on"
    )


def _unreadable(what: str, folder: Path, error: Exception) -> InputError:
    """Return one sentence on a folder's missing files, or else the start of the library's message."""
    if not folder.is_dir():
        reason = "there is no such folder"
    else:
        first = re.split(r"(?<=[.!?])\s", (str(error).splitlines() or [""])[0])[0]
        shown = re.sub(r"\W*https?://\S*", "", first)[:LONGEST_REASON].rstrip(" .:;,")
        reason = f"its files are missing, damaged or of another kind ({type(error).__name__}: {shown})"
    remedy = "train it again" if what == "LoRA adapter" else "give the folder of a whole downloaded model"
    return InputError(f"no {what} can be read from {folder}: {reason}; {remedy}")


def adapter_for(policy: Path, task: TaskName) -> Path:
    """Return the folder of the adapter that answers a task's prompts."""
    one_for_all, own = policy / ADAPTER_FOLDER, policy / TASK_ADAPTERS_FOLDER / task
    if one_for_all.is_dir():
        return one_for_all
    if own.is_dir():
        return own
    trained = ", ".join(sorted(folder.name for folder in own.parent.glob("*"))) or "no task"
    raise InputError(
        f"the policy in {policy} has no adapter for {task}, only for {trained}; train it on prompts of {task}, or ask "
        "it none"
    )


def adapters_of(policy: Path) -> dict[str, Path]:
    """Return the folders of a policy's adapters by name: `adapter` for all tasks, or the names of the tasks."""
    one_for_all = policy / ADAPTER_FOLDER
    if one_for_all.is_dir():
        return {ADAPTER_FOLDER: one_for_all}
    return {folder.name: folder for folder in sorted((policy / TASK_ADAPTERS_FOLDER).iterdir())}


def switch_adapter(model: "PeftModel", adapter: Path) -> None:
    """Switch a policy to another adapter of the same training, keeping its base in memory."""
    if adapter.name not in model.peft_config:
        model.load_adapter(adapter, adapter_name=adapter.name)
    model.set_adapter(adapter.name)
