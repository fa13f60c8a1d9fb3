"""The box: algorithms on tables that nobody may see. A rule is written once against `Box`; three backends run it.

`Sealed` runs a rule on shares among three parties, `Checked` does so and stops one who deviates, `Clear` runs it in the
open and adds up the cost of either. A
`Shared` is a column of secret words, 64 records to a machine word; bit 0 of a word is its most significant.

    local     ^ ~ .bits .mixed .padded .at .ahead .later .reversed .where .cut, joined, stacked, box.public, .constant
    kernels   box.share, & (both), all, < (less), add, shuffle, unshuffle
    composed  | (either), equal, select, subtract, argmin, sort, k_equal, grouped, scan, fold, count
    opened    box.open, open_bit, open_order, open_to: each with says=Disclosure(key, numbers), entered in box.ledger
    told      box.tell(parties, words, says=...): what all three know, to those who do not compute
    strands   await box.together(a, b, ...): side by side, in lock-step; they wait for nothing but the box
    agreed    box.decide(bytes): a public decision, compared by all before the next opening
    resumed   freeze(columns) and thaw(box, bytes): a party's shares; box.compare(columns): do neighbours hold the same?

Parties have numbers: 0, 1 and 2 compute, the others share and receive through `Outside`.

What a rule keeps to: steps and shapes depend on public values only, which are sizes and what was opened; public
decisions are computed in integers; nothing is opened in shuffled positions but by `sort`; no shuffle is used twice.
"""

from __future__ import annotations

from covey.mpc.box import ORDER, Box, Sorted, copied
from covey.mpc.checked import Checked
from covey.mpc.clear import Clear
from covey.mpc.ledger import Disclosure, Opening, Total, totals
from covey.mpc.outside import Outside
from covey.mpc.planes import width_of
from covey.mpc.sealed import Sealed
from covey.mpc.shared import Shared, aligned, joined, stacked
from covey.mpc.state import freeze, hashes, thaw
from covey.mpc.supply import SOUNDNESS_BITS

__all__ = [
    "ORDER",
    "SOUNDNESS_BITS",
    "Box",
    "Checked",
    "Clear",
    "Disclosure",
    "Opening",
    "Outside",
    "Sealed",
    "Shared",
    "Sorted",
    "Total",
    "aligned",
    "copied",
    "freeze",
    "hashes",
    "joined",
    "stacked",
    "thaw",
    "totals",
    "width_of",
]
