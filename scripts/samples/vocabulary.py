"""The words that the sample tables use, each already in the group that its hierarchy puts it in."""

from __future__ import annotations

from dataclasses import dataclass

# realm -> group -> occupation -> how many of those in work have it (0: age decides, not chance)
OCCUPATIONS: dict[str, dict[str, dict[str, float]]] = {
    "professions": {
        "health and teaching": {"nurse": 5, "care assistant": 4, "doctor": 1.2, "teacher": 5, "lecturer": 0.7},
        "office": {"clerk": 9, "accountant": 3, "civil servant": 5, "manager": 4, "judge": 0.12},
        "technology": {"engineer": 4, "programmer": 3, "technician": 4, "pilot": 0.15},
    },
    "manual and service work": {
        "trades": {"builder": 5, "mechanic": 4, "electrician": 3, "carpenter": 2},
        "services": {"shop assistant": 8, "driver": 5, "cleaner": 4, "cook": 3, "waiter": 2.5, "hairdresser": 1.5},
        "land and sea": {"farmer": 2, "fisher": 0.8, "forester": 0.4},
    },
    "not in work": {
        "in education": {"child": 0, "pupil": 0, "student": 0},
        "at home": {"homemaker": 0, "unemployed": 0},
        "retired": {"pensioner": 0},
    },
}
IN_WORK: dict[str, float] = {
    occupation: share
    for groups in OCCUPATIONS.values()
    for occupations in groups.values()
    for occupation, share in occupations.items()
    if share > 0
}
SALARIED = frozenset({"civil servant", "teacher", "judge"})
WELL_PAID = frozenset({"doctor", "manager", "judge", "pilot", "engineer", "lecturer"})


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis, who gets it and where it is treated."""

    name: str
    chapter: str
    ward: str
    by_age: tuple[float, float, float, float]  # how common in childhood, to 39, to 64, after
    women: float = 1.0
    men: float = 1.0


DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis("hypertension", "circulatory", "internal medicine", (0, 1, 9, 10)),
    Diagnosis("heart failure", "circulatory", "internal medicine", (0, 0, 3, 10)),
    Diagnosis("stroke", "circulatory", "internal medicine", (0, 0.3, 3, 8)),
    Diagnosis("asthma", "respiratory", "internal medicine", (9, 4, 3, 2)),
    Diagnosis("pneumonia", "respiratory", "internal medicine", (4, 2, 4, 9)),
    Diagnosis("influenza", "respiratory", "internal medicine", (6, 4, 3, 4)),
    Diagnosis("chronic bronchitis", "respiratory", "internal medicine", (0, 0, 4, 8)),
    Diagnosis("diabetes", "metabolic", "internal medicine", (0.2, 1.5, 8, 9)),
    Diagnosis("thyroid disorder", "metabolic", "internal medicine", (0.3, 2, 4, 2.5), women=3),
    Diagnosis("fracture", "injury", "orthopaedics", (9, 5, 4, 7)),
    Diagnosis("concussion", "injury", "surgery", (7, 5, 2, 2), men=1.6),
    Diagnosis("back pain", "bones and joints", "orthopaedics", (0.1, 4, 8, 5)),
    Diagnosis("arthrosis", "bones and joints", "orthopaedics", (0, 0.2, 4, 9)),
    Diagnosis("depression", "mental health", "psychiatry", (0.5, 6, 6, 3), women=1.5),
    Diagnosis("anxiety", "mental health", "psychiatry", (1, 6, 4, 1.5), women=1.5),
    Diagnosis("alcohol dependence", "mental health", "psychiatry", (0, 3, 4, 1), men=2.5),
    Diagnosis("breast cancer", "cancer", "oncology", (0, 0.5, 3, 3), men=0.01),
    Diagnosis("prostate cancer", "cancer", "oncology", (0, 0, 2, 4), women=0),
    Diagnosis("leukaemia", "cancer", "oncology", (0.4, 0.2, 0.3, 0.5)),
    Diagnosis("appendicitis", "digestive", "surgery", (6, 4, 1.5, 0.6)),
    Diagnosis("gallstones", "digestive", "surgery", (0.1, 2, 4, 4), women=1.8),
    Diagnosis("childbirth", "pregnancy", "maternity", (0, 16, 0.6, 0), men=0),
    Diagnosis("HIV infection", "infection", "internal medicine", (0, 0.3, 0.2, 0.05), men=2),
)

WARDS: dict[str, tuple[str, ...]] = {
    "medical": ("internal medicine", "oncology", "psychiatry"),
    "operative": ("surgery", "orthopaedics"),
    "family": ("maternity", "paediatrics"),
}

INSURERS: dict[str, tuple[str, ...]] = {
    "local fund": ("Harbour Mutual", "Valley Sick Fund", "Plain and Moor Fund"),
    "national fund": ("Union Fund", "Public Servants Fund"),
    "private": ("Crown Private", "Atlas Private"),
}

# band -> the amount where it begins
BANDS: dict[str, dict[str, int]] = {
    "below 2000": {"0 to 499": 0, "500 to 999": 500, "1000 to 1999": 1000},
    "2000 or more": {"2000 to 3999": 2000, "4000 to 7999": 4000, "8000 or more": 8000},
}

MOODS: tuple[str, ...] = ("never", "some days", "most days", "every day")
