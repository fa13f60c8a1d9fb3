"""Letters of a simulated collection: each row of a table is a respondent's, who enrols with a key and sends one.

All keys follow from the simulation's seed, so that each party's process makes what it is given.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from covey.crypto.letter import LetterKey
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.protocols.peel import letters
from covey.protocols.peel.respondents import hub_of, judge, word_of
from covey.protocols.protocol import Letters
from covey.sources.source import Data, connect
from covey.study import Study
from covey.table import Table, build, read_source


def load_rows(study: Study, data: Data) -> Table:
    """Returns everyone's rows, before they are dealt. Raises InputError that names file and column."""
    return build(read_source(connect(data), study.columns), study)


def handles(count: int) -> list[str]:
    """Returns names for so many respondents, which sort as they are numbered."""
    digits = len(str(count))
    return [f"r{number:0{digits}}" for number in range(1, count + 1)]


def letters_of(study: Study, party: str, data: Data, seed: Secret) -> Letters:
    """Returns a party's letters: the collector's, one for each row of a table, or a trustee's key for them."""
    return Letters(own=_key(party, seed)) if party != hub_of(study) else Letters(_written(study, data, seed))


def _key(trustee: str, seed: Secret) -> LetterKey:
    return LetterKey.draw(Rng(derive(seed, "letters", trustee)).stream("key"))


def _written(study: Study, data: Data, seed: Secret) -> dict[str, bytes]:
    table, run = load_rows(study, data), judge(study)
    word = word_of(study, run)
    words, keys = np.atleast_2d(word.words(table)), {name: _key(name, seed).public for name in run.parties[:3]}
    delivered = {}
    for place, handle in enumerate(handles(table.rows)):
        rng = Rng(derive(seed, "respondent", handle))
        own = Ed25519PrivateKey.from_private_bytes(rng.stream("enrolment").bytes(32))
        enrolment = own.public_key().public_bytes_raw(), own.sign
        answer = letters.write(study.study_hash, handle, words[:, place], word.width, keys, rng, enrolment)
        delivered[handle] = letters.pack(answer)
    return delivered
