"""Pseudonyms in place of case ids: keyed hashes, so only a person with the key can tell which case is which."""

import base64
import hmac
import os
import secrets
from pathlib import Path
from typing import Self

from pathway_local.errors import UsageError
from pathway_local.system.private_file import closing_command, create, exposed_to

KEY_BYTES = 32
_NO_KEY = "A key is 64 hex digits. Name a file that does not exist yet to create a key in it."
_CHARACTERS = 26
"""130 bits of the hash, in base32: letters and digits, which every file and service takes."""


class Pseudonyms:
    """The pseudonyms made with one key; the same id always gets the same one."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Read the key from a file of 64 hex digits. UsageError if it holds no key, or other users can read it."""
        try:
            if others := exposed_to(path):
                raise UsageError(f"the key in {path} can be read by {others}", f"Run: {closing_command(path)}")
            with path.open("rb") as file:
                text = file.read(4 * KEY_BYTES).decode("ascii").strip()
            key = bytes.fromhex(text)
        except OSError as error:
            raise UsageError(f"{path} can't be read: {error.strerror}", "Name the file with the key.") from None
        except ValueError:
            raise UsageError(f"{path} holds no key", _NO_KEY) from None
        if len(key) != KEY_BYTES:
            raise UsageError(f"{path} holds no key of {KEY_BYTES} bytes", _NO_KEY)
        return cls(key)

    @classmethod
    def at(cls, path: Path, *, make: bool) -> Self:
        """Read the key from that file; if `make` is set, create one in a new file of mode 0600. Raises UsageError."""
        try:
            if make and not path.exists():
                create(path, f"{secrets.token_hex(KEY_BYTES)}\n".encode())
        except OSError as error:
            if not path.exists():  # else another process, such as another part's, has just created it
                said = f"{path} can't be written: {os.strerror(error.errno or 0)}"
                raise UsageError(said, "Name another file.") from None
        return cls.of_file(path)

    @property
    def mark(self) -> str:
        """32 hex digits that tell this key from another without revealing it."""
        return self._hash("pathway-local: which key").hex()[:32]

    def of(self, case_id: str) -> str:
        """Return the pseudonym of a case id: letters and digits."""
        return base64.b32encode(self._hash(f"case {case_id}")).decode().lower()[:_CHARACTERS]

    def _hash(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")
