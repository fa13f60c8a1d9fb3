"""The generator of the sample data that ships in `src/covey/samples`.

draw        seeded draws that do not depend on a library's version
region, vocabulary, people    who the people are and how their columns depend on each other
sets, trees    the tables dealt from them, and their hierarchies

`python -m scripts.samples` writes the generated files anew; a test holds the shipped ones to it.
"""

from __future__ import annotations

from scripts.samples import sets
from scripts.samples.draw import Draws
from scripts.samples.people import people

from covey.samples.adult import Files

SEED = 20260101
_SETS = {
    "clinic": sets.clinic,
    "hospitals": sets.hospitals,
    "clinic-billing": sets.clinic_billing,
    "providers": sets.providers,
    "survey": sets.survey,
}


def generate(seed: int = SEED) -> Files:
    """Returns every generated file by its path below `covey.samples`; the same seed gives the same bytes."""
    population = people(Draws(seed, "people"))
    return {
        f"{name}/{file}": content
        for name, deal in _SETS.items()
        for file, content in deal(population, Draws(seed, name)).items()
    }
