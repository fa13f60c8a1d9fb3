"""A secret can be used and compared; it cannot be printed, encoded, pickled or hashed by accident."""

from __future__ import annotations

import hmac
from typing import NoReturn

from covey.errors import InputError

SECRET_BYTES = 32


class Secret:
    """Thirty-two bytes that nobody else may see."""

    __slots__ = ("_material",)

    def __init__(self, material: bytes) -> None:
        if len(material) != SECRET_BYTES:
            raise InputError(f"a secret has {SECRET_BYTES} bytes, these are {len(material)}")
        self._material = bytes(material)

    def reveal(self) -> bytes:
        """The bytes themselves: for a cipher, a key agreement or an encrypted journal, and nothing else."""
        return self._material

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._material, other._material)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Secret:
        return self
