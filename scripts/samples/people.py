"""Three thousand invented patients whose columns hang together as real ones do.

Nobody here exists. Each correlation is one small function with the reason for it, so that a reader can judge
what a measure of information loss on this data means.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date

from scripts.samples.draw import Draws
from scripts.samples.region import COUNTY, POSTCODES
from scripts.samples.vocabulary import BANDS, DIAGNOSES, IN_WORK, SALARIED, WELL_PAID, Diagnosis

PEOPLE = 3000
YEARS = (2024, 2025)

# first year of a five-year band -> patients among a thousand: the old are in hospital more often
AGES: dict[int, float] = {
    0: 58, 5: 32, 10: 28, 15: 36, 20: 46, 25: 52, 30: 56, 35: 50, 40: 48, 45: 52, 50: 60, 55: 66, 60: 72, 65: 78,
    70: 80, 75: 78, 80: 58, 85: 34, 90: 13, 95: 3,
}  # fmt: skip


@dataclass(frozen=True)
class Person:
    """One patient and one stay in hospital."""

    id: str
    age: int
    sex: str
    postcode: str
    occupation: str
    admission: date
    stay: int
    ward: str
    diagnosis: str
    insurer: str
    amount: int


def people(draws: Draws) -> list[Person]:
    """The patients, in no order that tells anything."""
    numbers = draws.shuffled(range(100_000, 100_000 + 7 * PEOPLE))[:PEOPLE]
    return [person(draws, f"P{number}") for number in numbers]


def person(draws: Draws, identity: str) -> Person:
    """One patient: each column is drawn from those before it."""
    age = draws.pick(AGES) + draws.between(0, 4)
    sex = draws.pick(sexes(age))
    postcode = draws.pick(POSTCODES)
    occupation = draws.pick(occupations(age, sex, postcode))
    diagnosis = draws.pick(diagnoses(age, sex, occupation))
    ward = "paediatrics" if age < 15 else diagnosis.ward
    stay = days(draws, ward, age)
    return Person(
        id=identity,
        age=age,
        sex=sex,
        postcode=postcode,
        occupation=occupation,
        admission=admission(draws, diagnosis),
        stay=stay,
        ward=ward,
        diagnosis=diagnosis.name,
        insurer=draws.pick(insurers(postcode, occupation)),
        amount=invoice(draws, ward, stay),
    )


def sexes(age: int) -> dict[str, float]:
    """Women live longer, so they are most of the oldest; a few records say neither."""
    women = 0.50 if age < 65 else 0.54 if age < 80 else 0.63
    return {"F": women, "M": 1 - women, "X": 0.004}


def occupations(age: int, sex: str, postcode: str) -> dict[str, float]:
    """School and pension follow age; trades and care follow sex, as they still do; farms are not in the city."""
    if age < 6:
        return {"child": 1.0}
    if age < 17:
        return {"pupil": 1.0}
    shares = {job: share * leaning(job, sex) * rurality(job, postcode) for job, share in IN_WORK.items()}
    work = sum(shares.values())
    if age < 27:
        shares["pupil"] = work * (1.5 if age < 19 else 0.0)
        shares["student"] = work * (1.2 if age >= 18 else 0.1)
        for slow in ("doctor", "judge", "lecturer", "manager", "pilot"):
            shares[slow] = shares[slow] if age >= 25 else 0.0
    shares["pensioner"] = work * (0.0 if age < 57 else 0.25 if age < 63 else 1.8 if age < 67 else 40.0)
    shares["unemployed"] = work * (0.09 if age < 67 else 0.0)
    shares["homemaker"] = work * (0.12 if sex == "F" else 0.01) * (1.0 if age < 67 else 3.0)
    return shares


def leaning(occupation: str, sex: str) -> float:
    """Some occupations are mostly men's or mostly women's."""
    women = {"nurse": 4.0, "care assistant": 4.0, "hairdresser": 4.0, "cleaner": 2.5, "teacher": 2.0, "clerk": 1.8}
    men = {"builder": 8.0, "mechanic": 8.0, "electrician": 7.0, "carpenter": 7.0, "driver": 3.0, "programmer": 2.5}
    if sex == "F":
        return women.get(occupation, 1.0)
    return men.get(occupation, 1.0)


def rurality(occupation: str, postcode: str) -> float:
    """Farmers and foresters live inland, fishers on the coast, lecturers in the city that has the college."""
    county = COUNTY[postcode]
    if occupation in {"farmer", "forester"}:
        return 0.05 if county == "Harbour Coast" else 3.0
    if occupation == "fisher":
        return 4.0 if county == "Harbour Coast" else 0.02
    if occupation in {"lecturer", "programmer"}:
        return 1.8 if county == "Harbour Coast" else 0.4
    return 1.0


def diagnoses(age: int, sex: str, occupation: str) -> dict[Diagnosis, float]:
    """Age decides most, then sex; heavy work costs backs, and some are out of work because they are ill."""
    band = 0 if age < 15 else 1 if age < 40 else 2 if age < 65 else 3
    weights: dict[Diagnosis, float] = {}
    for diagnosis in DIAGNOSES:
        weight = diagnosis.by_age[band] * (diagnosis.women if sex == "F" else diagnosis.men)
        if diagnosis.name == "back pain" and occupation in {"builder", "nurse", "care assistant", "farmer", "driver"}:
            weight *= 2.0
        if diagnosis.chapter == "mental health" and occupation == "unemployed":
            weight *= 2.5
        if diagnosis.name == "childbirth" and not 17 <= age <= 46:
            weight = 0.0
        weights[diagnosis] = weight
    return weights


def admission(draws: Draws, diagnosis: Diagnosis) -> date:
    """Coughs come in winter and broken bones in summer and on ice; planned operations are not on Sundays."""
    winter = {"respiratory": 3.0, "injury": 1.3}.get(diagnosis.chapter, 1.0)
    summer = {"respiratory": 0.6, "injury": 1.5}.get(diagnosis.chapter, 1.0)
    months = {m: winter if m in {12, 1, 2} else summer if m in {6, 7, 8} else 1.0 for m in range(1, 13)}
    year = draws.pick({YEARS[0]: 0.46, YEARS[1]: 0.54})
    month = draws.pick(months)
    while True:
        day = date(year, month, draws.between(1, calendar.monthrange(year, month)[1]))
        if day.weekday() != 6 or draws.chance(0.4):
            return day


def days(draws: Draws, ward: str, age: int) -> int:
    """The old stay longer, psychiatry longest; a few stays in a hundred are very long."""
    mean = {"psychiatry": 16.0, "oncology": 9.0, "orthopaedics": 6.0, "internal medicine": 5.0}.get(ward, 2.5)
    mean *= 1.0 + max(0, age - 50) / 60
    stay = max(0.0, draws.around(mean, mean / 2))
    return min(120, round(stay * 4 if draws.chance(0.03) else stay))


def insurers(postcode: str, occupation: str) -> dict[str, float]:
    """The local fund is where one lives; public servants have their own, and the well paid leave for a private one."""
    local = {"Harbour Coast": "Harbour Mutual", "Middle Valley": "Valley Sick Fund"}
    weights = {local.get(COUNTY[postcode], "Plain and Moor Fund"): 6.0, "Union Fund": 3.0}
    weights["Public Servants Fund"] = 12.0 if occupation in SALARIED else 0.05
    weights["Crown Private"] = 6.0 if occupation in WELL_PAID else 0.3
    weights["Atlas Private"] = 1.0 if occupation in WELL_PAID else 0.08
    return weights


def invoice(draws: Draws, ward: str, stay: int) -> int:
    """Wards charge by the day and the theatre by the operation; whole euros."""
    rate = {"oncology": 480, "surgery": 520, "orthopaedics": 430, "psychiatry": 210}.get(ward, 310)
    theatre = {"surgery": 1400, "orthopaedics": 1900, "maternity": 900}.get(ward, 90)
    return round((rate * stay + theatre) * max(0.4, draws.around(1.0, 0.18)))


def band(amount: int) -> str:
    """The band that an amount falls in."""
    begins = {name: start for bands in BANDS.values() for name, start in bands.items()}
    return max((name for name in begins if begins[name] <= amount), key=begins.__getitem__)
