"""Counting equals: trustees find which shared numbers are equal, and open something of large groups alone.

Source    ours. The tag is Dodis and Yampolskiy's function (2005) of a number, under a secret that is drawn for each
          call; it is computed by opening r (h + s) and r G, as Bar-Ilan and Beaver (1989) invert.
Roles     three trustees or five, all alike, with shares of degree t = (c - 1) / 2 modulo the order of ristretto255.
Security  fewer than half of the trustees conspire, and those may deviate: an opening by more shares than it takes is
          checked; products are checked against others before use,
          and a shuffle by a secret checksum of every row. A respondent who conspires chose its number before the secret
          was drawn, so that no choice of it says anything of another's. That the tags of unequal numbers look unrelated
          rests on the inversion assumption (q-DDHI, for numbers that were chosen before) in a group without a pairing.
Not       a trustee can stop everything, by leaving too: without it there would be too few shares to check with, and
          one liar could make unequal numbers look equal. A false share is noticed, and with three trustees not
          whose it is; with five it is the one that fits no other's, or two of the others framed that one.

trustees   who they are, at which place; openings, and whether they fit
supply     products of random numbers
shuffling  rows in an order that no t trustees know
counting   tags, groups, and what is opened of large ones
"""

from __future__ import annotations

from covey.secure.declare import Leakage

LEAKAGE = Leakage(everyone=("how many of {rows} shared numbers are equal, as sizes of groups without a name",))
