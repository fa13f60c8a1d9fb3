"""Paillier keys that are made in no time and protect nothing, for tests of whole protocols.

Every maker and reader of keys takes `least_bits`, and nothing in the product passes it. The roles of a protocol have no
such argument: importing this module gives it to them, in the tests' process alone.
"""

from __future__ import annotations

from functools import partial

from covey.crypto.paillier import PublicKey, SecretKey, check_bits
from covey.crypto.threshold_paillier import Primes
from covey.protocols.as_printed.federate import meeting, parameters

TINY = 256

PublicKey.unpack = partial(PublicKey.unpack, least_bits=TINY)  # type: ignore[method-assign]
Primes.draw = partial(Primes.draw, least_bits=TINY)  # type: ignore[method-assign]
meeting.SecretKey = partial(SecretKey, least_bits=TINY)  # type: ignore[attr-defined, assignment]
parameters.check_bits = partial(check_bits, least_bits=TINY)  # type: ignore[attr-defined]
