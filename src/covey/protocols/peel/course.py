"""What a run's visits cost, from the public sizes of what was exchanged in their course.

The sizes depend on the data through what the ledger names and on nothing else, so that no cost can be declared before a
run; the forecast estimates them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from covey.protocols.peel import pure
from covey.secure import sum as secure_sum
from covey.secure import threshold_test


@dataclass
class Course:
    """Sizes, in the order in which they came about; every party notes the same."""

    prepared: list[int] = field(default_factory=list)
    tested: list[int] = field(default_factory=list)
    examined: list[tuple[int, int, int]] = field(default_factory=list)
    """Heavy hashed buckets, tuples that were named, limbs."""
    counted: list[int] = field(default_factory=list)

    def messages(self, parties: int, k: int) -> int:
        """How many messages all parties sent, without tests of diversity."""
        return (
            sum(threshold_test.PREPARATION_COST.messages(parties, k, width) for width in self.prepared)
            + sum(threshold_test.COST.messages(parties, width) for width in self.tested)
            + sum(pure.COST.messages(parties, *sizes) for sizes in self.examined)
            + sum(secure_sum.COST.messages(parties, width) for width in self.counted)
        )

    def bytes(self, parties: int, k: int) -> int:
        """How many bytes these took on the wire."""
        return (
            sum(threshold_test.PREPARATION_COST.bytes(parties, k, width) for width in self.prepared)
            + sum(threshold_test.COST.bytes(parties, width) for width in self.tested)
            + sum(pure.COST.bytes(parties, *sizes) for sizes in self.examined)
            + sum(secure_sum.COST.bytes(parties, width) for width in self.counted)
        )

    def rounds(self, parties: int, k: int) -> tuple[int, int]:
        """The longest chain is at least that of the visits alone, and at most that with every batch waited for."""
        online = (
            sum(threshold_test.COST.rounds(parties, width) for width in self.tested)
            + sum(pure.COST.rounds(parties, *sizes) for sizes in self.examined)
            + len(self.counted)
        )
        return online, online + sum(
            threshold_test.PREPARATION_COST.rounds(parties, k, width) for width in self.prepared
        )
