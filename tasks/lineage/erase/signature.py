"""Signed documents of a state folder: Ed25519 over canonical JSON, and ids as keyed hashes.

The key is made once, and only its owner reads it. A report carries the public key, so that anybody can check that it
was not changed; that it is of this state folder, only who has the folder or knows the key's fingerprint can say.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import GateRefused, InputError
from schemas.full_disk import full_disk_error, is_of_full_disk

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_FILE: Final = "forget.key"
"""Of the state folder: the 32 bytes of the private key, in hexadecimal."""
KEY_BYTES: Final = 32
PUBLIC_KEY: Final = "public_key"
SIGNATURE: Final = "signature"
SUBJECT_CHARACTERS: Final = 32
FINGERPRINT_CHARACTERS: Final = 16


class Signer:
    """Key of a state folder."""

    def __init__(self, root: Path) -> None:
        """Read the key of a state folder, or make it.

        Raises:
            InputError: The key cannot be read or made.
        """
        self._secret = _read_or_make(root / KEY_FILE)

    def subject(self, identifier: str, kind: str | None = None) -> str:
        """Return an id as a keyed hash: the same one again, and to nobody without the key whose it is."""
        asked = identifier if kind is None else f"{kind} {identifier}"
        digest = hmac.new(self._secret, b"subject " + asked.encode(), hashlib.sha256).hexdigest()
        return digest[:SUBJECT_CHARACTERS]

    def signed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a JSON document with the public key and the signature."""
        whole = {**document, PUBLIC_KEY: _public(self._key()).hex()}
        return {**whole, SIGNATURE: self._key().sign(_canonical(whole)).hex()}

    def is_own(self, document: Mapping[str, Any]) -> bool:
        """Return whether a signed document names this key."""
        return document.get(PUBLIC_KEY) == _public(self._key()).hex()

    def _key(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._secret)


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


def _read_or_make(file: Path) -> bytes:
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            draft = file.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
                written.write(os.urandom(KEY_BYTES).hex() + "\n")
            draft.replace(file)
        secret = bytes.fromhex(file.read_text(encoding="ascii").strip())
    except OSError as error:
        if is_of_full_disk(error):
            raise full_disk_error(file.parent, error) from error
        raise InputError(f"the key {file} cannot be used ({error.strerror}); correct its permissions") from None
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise InputError(f"the key {file} was altered; bring it back from a backup, or remove it to have another made")
    return secret


def _public(key: "Ed25519PrivateKey") -> bytes:
    return key.public_key().public_bytes_raw()


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
