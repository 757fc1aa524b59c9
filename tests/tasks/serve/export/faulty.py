"""GGUF files with a fault in them: another file's content, but for what is changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes the file's values and its tensors, both by name; a tensor is its bytes and their type."""


def with_fault(file: Path, output: Path, change: Change) -> Path:
    """Write a GGUF file again with a change."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    reader = GGUFReader(file)
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    values = {name: field.contents() for name, field in fields.items()}
    tensors = {tensor.name: (tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    change(values, tensors)
    writer = GGUFWriter(output, values.pop("general.architecture"))
    for name, value in values.items():
        if name in fields:
            kind, inner = fields[name].types[0], fields[name].types[-1]
        else:
            kind = inner = GGUFValueType.BOOL if isinstance(value, bool) else GGUFValueType.UINT32
        writer.add_key_value(name, value, kind, inner if kind == GGUFValueType.ARRAY else None)
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return output
