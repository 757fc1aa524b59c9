"""Signed report of a forgetting: what was done, how it is proven, and what was not reached; it names nobody.

A report carries the public key of the state folder (Ed25519 over canonical JSON), so that anybody can check that it was
not changed. That it is of this folder, only who has the folder or knows the key's fingerprint can say.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.disk import write_whole
from schemas.errors import GateRefused, InputError, full_disk_error, is_of_full_disk
from tasks.lineage.erase.plan import Forgetting

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

REPORTS_FOLDER: Final = "forgotten"
"""Of the state folder."""
FORMAT: Final = "tucano-forget-2"
ROWS_PROOF: Final = (
    "rows: every table of every artifact was read again after the removal, and none of the ids of customer, orders, "
    "reviews and prompts was found in any"
)
WEIGHTS_PROOF: Final = (
    "weights: every model that learned from them was removed, and trained again from the start on data without them"
)
STORE_PROOF: Final = (
    "store: ids of orders, customers and reviews were replaced by random ones whose secret is gone, texts by nothing, "
    "and the place by none but the state; amounts and dates stay, as others' figures are counted over them"
)
KEY_FILE: Final = "forget.key"
"""Of the state folder: the 32 bytes of the private key, in hexadecimal."""
KEY_BYTES: Final = 32
PUBLIC_KEY: Final = "public_key"
SIGNATURE: Final = "signature"
FINGERPRINT_CHARACTERS: Final = 16


def as_report(state: Forgetting, to_do: Iterable[str], now: datetime) -> dict[str, Any]:
    """Return the report of a forgetting that came to its end, unsigned."""
    missed = chain.from_iterable(state.missed.values())
    in_doubt = [
        f"look at {count} lines of {file}, which stay: their text is one of this person's, but short or somebody "
        "else's too, so that nothing says whose they are"
        for file, count in state.lines_in_doubt.items()
    ]
    proofs = {ROWS_PROOF: not state.left, WEIGHTS_PROOF: bool(state.data), STORE_PROOF: bool(state.data)}
    return {
        "format": FORMAT,
        "kinds": list(state.kinds),
        "finished_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "prompts": state.prompts,
        "rows_by_split": dict(state.splits),
        "log_lines": dict(state.log_lines),
        "lines_by_text": state.lines_by_text,
        "removed": [
            {"kind": kind, "sha256": sha256, "replaced_by": state.replaced.get(sha256)}
            for sha256, kind in state.removed.items()
        ],
        "kept_unchanged": sorted(set(state.taught) & set(state.kept)),
        "trainings_removed": list(state.trainings),
        "versions_removed": list(state.versions_removed),
        "verdict": state.verdict,
        "proof": [proof for proof, holds in proofs.items() if holds],
        "not_reached": list(dict.fromkeys((*state.unreached, *missed, *state.left))),
        "to_do": [*in_doubt, *to_do],
    }


def write_report(root: Path, document: Mapping[str, Any]) -> Path:
    """Sign a report, write it into the state folder, and return its file."""
    folder = root / REPORTS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    moment = document["finished_at"].replace(":", "").replace("+0000", "Z")
    file = folder / f"{moment}-{secrets.token_hex(4)}.json"
    write_whole(file, json.dumps(signed(root, document), indent=1, ensure_ascii=False) + "\n")
    return file


def signed(root: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON document with the public key of a state folder, which is made once, and the signature."""
    key = _key(root)
    whole = {**document, PUBLIC_KEY: key.public_key().public_bytes_raw().hex()}
    return {**whole, SIGNATURE: key.sign(_canonical(whole)).hex()}


def is_own(root: Path, document: Mapping[str, Any]) -> bool:
    """Return whether a signed document names the key of a state folder."""
    return (root / KEY_FILE).exists() and document.get(PUBLIC_KEY) == _key(root).public_key().public_bytes_raw().hex()


def read_signed(file: Path) -> dict[str, Any]:
    """Return a signed document after checking its signature.

    Raises:
        InputError: The file cannot be read, or is no such document.
        GateRefused: It was changed after it was signed.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        document = json.loads(file.read_bytes())
        signature = bytes.fromhex(document[SIGNATURE])
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(document[PUBLIC_KEY]))
    except OSError as error:
        raise InputError(f"the report {file} cannot be read ({error.strerror}); name another file") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{file} is no report of `tucano forget`; name a file of the folder forgotten of a state folder"
        ) from None
    try:
        key.verify(signature, _canonical({name: value for name, value in document.items() if name != SIGNATURE}))
    except InvalidSignature:
        raise GateRefused(f"the report {file} was changed after it was signed; take the original") from None
    return dict(document)


def fingerprint(document: Mapping[str, Any]) -> str:
    """Return the fingerprint of the key that a document names, for comparing by eye."""
    return hashlib.sha256(bytes.fromhex(document[PUBLIC_KEY])).hexdigest()[:FINGERPRINT_CHARACTERS]


def _key(root: Path) -> "Ed25519PrivateKey":
    """Read the key of a state folder, or make it; only its owner reads it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    file = root / KEY_FILE
    try:
        if not file.exists():
            root.mkdir(parents=True, exist_ok=True)
            write_whole(file, os.urandom(KEY_BYTES).hex() + "\n", 0o600)
        secret = bytes.fromhex(file.read_text(encoding="ascii").strip())
    except OSError as error:
        if is_of_full_disk(error):
            raise full_disk_error(root, error) from error
        raise InputError(f"the key {file} cannot be used ({error.strerror}); correct its permissions") from None
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise InputError(f"the key {file} was altered; bring it back from a backup, or remove it to have another made")
    return Ed25519PrivateKey.from_private_bytes(secret)


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
