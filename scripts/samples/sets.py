"""Deals the people into the data sets that ship.

Each function returns the generated files of one set, by their path inside its folder. The study files are
written by hand and lie beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

from scripts.samples import trees
from scripts.samples.draw import Draws
from scripts.samples.people import Person, band
from scripts.samples.region import COUNTY, TOWN
from scripts.samples.vocabulary import MOODS

from covey.samples.adult import Files, sheet

BILLED = 1500
SURVEYED = 800


def blank(draws: Draws, cell: str, share: float) -> str:
    """The cell, or nothing in the given share of rows: forms are not always filled in."""
    return "" if draws.chance(share) else cell


def clinic(people: Sequence[Person], draws: Draws) -> Files:
    """The whole table at one owner."""
    header = [
        "patient_id", "age", "sex", "postcode", "occupation", "admission", "stay", "ward", "diagnosis", "invoice",
    ]  # fmt: skip
    rows = [
        [
            person.id,
            person.age,
            person.sex,
            blank(draws, person.postcode, 0.006),
            blank(draws, person.occupation, 0.02),
            person.admission.isoformat(),
            person.stay,
            person.ward,
            person.diagnosis,
            person.amount,
        ]
        for person in people
    ]
    return {
        "clinic.csv": sheet(header, rows),
        "hierarchies/occupation.csv": trees.occupation(),
        "hierarchies/ward.csv": trees.ward(),
        "hierarchies/diagnosis.csv": trees.diagnosis(),
    }


def hospitals(people: Sequence[Person], draws: Draws) -> Files:
    """The rows split among three hospitals with different case mixes; the south's clerks type ages as they like."""
    header = ["patient_id", "age", "sex", "postcode", "occupation", "admission", "stay", "diagnosis"]
    tables: dict[str, list[list[object]]] = {"north": [], "south": [], "east": []}
    for person in people:
        hospital = draws.pick(attraction(person))
        age = untidy(draws, person.age) if hospital == "south" else str(person.age)
        occupation = blank(draws, person.occupation, 0.05 if hospital == "east" else 0.01)
        tables[hospital].append(
            [person.id, age, person.sex, person.postcode, occupation, person.admission, person.stay, person.diagnosis]
        )
    files = {f"{hospital}.csv": sheet(header, rows) for hospital, rows in tables.items()}
    return {**files, "hierarchies/occupation.csv": trees.occupation()}


def attraction(person: Person) -> dict[str, float]:
    """People go to the near hospital; births and psychiatry go south, joints and hearts north, children east."""
    hospital = {"Harbour Coast": "south", "Middle Valley": "east"}.get(COUNTY[person.postcode], "north")
    pull = {"north": 2.8, "south": 2.0, "east": 1.3}
    pull[hospital] *= 5.0
    if person.ward in {"maternity", "psychiatry"}:
        pull["south"] *= 5.0
    if person.diagnosis in {"arthrosis", "heart failure", "stroke", "hypertension"}:
        pull["north"] *= 4.0
    if person.ward == "paediatrics":
        pull["east"] *= 6.0
    return pull


def untidy(draws: Draws, age: int) -> str:
    """An age as an old system exports it: mostly 37, now and then with a blank before it or as 37.0."""
    return draws.pick({f"{age}": 0.92, f" {age}": 0.05, f"{age}.0": 0.03})


def clinic_billing(people: Sequence[Person], draws: Draws) -> Files:
    """The columns split between a clinic and its billing office, with a few people that only one of them knows."""
    patients = people[:BILLED]
    clinical = [
        [person.id, person.age, person.sex, person.postcode, person.diagnosis]
        for person in patients
        if not draws.chance(0.008)
    ]
    billed = [
        [person.id, blank(draws, person.occupation, 0.02), person.insurer, band(person.amount)]
        for person in patients
        if not draws.chance(0.01)
    ]
    return {
        "clinic.csv": sheet(["patient_id", "age", "sex", "postcode", "diagnosis"], draws.shuffled(clinical)),
        "billing.csv": sheet(["patient_id", "occupation", "insurer", "invoice"], draws.shuffled(billed)),
        "hierarchies/occupation.csv": trees.occupation(),
        "hierarchies/insurer.csv": trees.insurer(),
        "hierarchies/invoice.csv": trees.amount(),
        "hierarchies/diagnosis.csv": trees.diagnosis(),
    }


def providers(people: Sequence[Person], draws: Draws) -> Files:
    """Providers that share some of their customers; the list of the whole population is public.

    A study of two leaves the pharmacy out; its draws come last, so that the others' tables are the same in both.
    """
    gym = [
        [person.id, person.age, TOWN[person.postcode], visits(draws, person)]
        for person in people
        if trains(draws, person)
    ]
    insured = [
        [person.id, blank(draws, person.occupation, 0.01), person.stay, person.diagnosis]
        for person in people
        if draws.chance(0.58)
    ]
    tables = {
        "gym.csv": sheet(["uid", "age", "town", "visits"], draws.shuffled(gym)),
        "insurer.csv": sheet(["uid", "occupation", "stay", "diagnosis"], draws.shuffled(insured)),
    }
    served = [
        [person.id, medicines(draws, person), draws.pick(pickup(person))] for person in people if draws.chance(0.62)
    ]
    return {
        **tables,
        "pharmacy.csv": sheet(["uid", "medicines", "pickup"], draws.shuffled(served)),
        "population.csv": "".join(f"{uid}\n" for uid in sorted(person.id for person in people)).encode(),
        "hierarchies/occupation.csv": trees.occupation(),
        "hierarchies/town.csv": trees.town(),
    }


def trains(draws: Draws, person: Person) -> bool:
    """The young join a gym more often than the old, and city people more often than others."""
    likely = 0.68 if person.age < 40 else 0.58 if person.age < 65 else 0.48
    return draws.chance(likely * (1.0 if COUNTY[person.postcode] == "Harbour Coast" else 0.9))


def visits(draws: Draws, person: Person) -> int:
    """Most come a few times a month and a few come daily; those in a long treatment come less."""
    if draws.chance(0.06):
        return draws.between(20, 30)
    return max(0, min(30, round(draws.around(5.0 if person.stay < 10 else 3.0, 2.5))))


def medicines(draws: Draws, person: Person) -> int:
    """The old take more medicines a year than the young, and a few people take very many."""
    return max(0, min(24, round(draws.around(2.0 + person.age / 15, 2.0)) + (8 if draws.chance(0.04) else 0)))


def pickup(person: Person) -> dict[str, float]:
    """People on the moors have their medicines brought; the young use the locker."""
    remote = COUNTY[person.postcode] == "High Moors"
    return {"counter": 5.0, "locker": 4.0 if person.age < 40 else 1.0, "delivery": 6.0 if remote else 1.5}


def survey(people: Sequence[Person], draws: Draws) -> Files:
    """One row per respondent: a few facts about oneself and an answer that one would not sign."""
    respondents = [person for person in people if person.age >= 16][:SURVEYED]
    rows = [
        [person.age, person.sex, TOWN[person.postcode], person.occupation, draws.pick(moods(person))]
        for person in draws.shuffled(respondents)
    ]
    return {
        "survey.csv": sheet(["age", "sex", "town", "occupation", "low_spirits"], rows),
        "hierarchies/occupation.csv": trees.occupation(),
        "hierarchies/town.csv": trees.town(),
    }


def moods(person: Person) -> dict[str, float]:
    """The young, the unemployed and those alone on the moors report low spirits more often."""
    burden = (
        1.0 + (person.age < 30) + 2 * (person.occupation == "unemployed") + (COUNTY[person.postcode] == "High Moors")
    )
    return dict(zip(MOODS, (50.0, 25.0 * burden, 9.0 * burden, 3.0 * burden), strict=True))
