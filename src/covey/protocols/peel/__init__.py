"""Peel, sealed: the tables of several holders become the release of a trusted party, computed on shares by three.

Source    ours (docs/architecture.md); the shares are those of Araki and others (CCS 2016), see `covey.mpc.sealed`.
Roles     three parties compute: helpers, who have no data, and holders of rows or of columns. Other holders are
          outside: they share their data, vote and read. A recipient has no data and is the only one that gets the
          release.
Security  one of the three may do anything: a deviation stops the run before anything is opened that hangs on it
          (`cheating = "detect"`); with "trust" it may be curious only. Any two together read every row. Opened are the
          number of records, how many leave at each window, the classes and, after approval, the cells; nothing else. Of
          columns the number of common people is opened, and to nobody which people these are.
Not       a party that stops, or makes up its own rows. Two runs on changed data can be subtracted from each other. Two
          computing parties of whom one is a holder can try keys together.
"""

from __future__ import annotations

from dataclasses import replace

from covey.protocols.peel import respondents
from covey.protocols.peel.parameters import OF_COLUMNS, OF_RESPONDENTS, REQUIREMENTS, accepts, run_of
from covey.protocols.peel.parties import parties_of, receives, role_of
from covey.protocols.peel.role import LEAKAGE, computing, foresee, ideal, outside, rehearse
from covey.protocols.protocol import Demonstration, Memory, Protocol

__all__ = ["PROTOCOL", "PROTOCOLS", "computing", "ideal"]

PROTOCOL = Protocol(
    name="peel",
    version=7,
    about="rows of any number of holders, computed on shares by three parties: nothing is opened but the release",
    source="ours: lattice peeling on replicated shares",
    requirements=REQUIREMENTS,
    needs="three holders of rows or more, or two and a helper without data; hierarchies that list their domains",
    guarantees="k, l by frequency or distinct values, k_insider, l_insider, most_of_a_class; nothing is opened but the "
    "release, of which the parties approve classes and sizes before any cell",
    released_to="every holder, or the recipient",
    phases=("rows", "windows", "release"),
    leakage=LEAKAGE,
    roles={"holder": computing, "helper": computing, "outside": outside, "recipient": outside},
    plays=role_of,
    foresee=foresee,
    rehearse=rehearse,
    ideal=ideal,
    judge=run_of,
    accepts=accepts,
    receives=receives,
    computing=lambda study: parties_of(study)[:3],
    counts_first=True,
    memory=Memory(420 * 10**6, 5_000),
)
COLUMNS = replace(
    PROTOCOL,
    about="columns of the same people at any number of holders, computed on shares by three parties: nothing is opened "
    "but the release and the number of common people",
    requirements=OF_COLUMNS,
    needs="three holders of columns or more, or two and a helper without data; hierarchies that list their domains",
    guarantees="k, l by frequency or distinct values; nothing is opened but the release, of which the parties approve "
    "classes and sizes before any cell",
    demonstration=Demonstration(
        "clinic-billing", {"parties": {"notary": {"role": "helper"}}, "utility": {"effort": "quick"}}
    ),
)
RESPONDENTS = replace(
    PROTOCOL,
    about="a row at each of many respondents: three trustees compute on shares, the collector gets the release",
    requirements=OF_RESPONDENTS,
    needs="one party with role = collector, three with role = trustee; k or more respondents, who enrol; hierarchies "
    "that list their domains, and a list of values for each sensitive column",
    guarantees="k, l by frequency or distinct values; nothing is opened but the release, and which letters are no "
    "answers",
    released_to="the collector",
    roles={"trustee": respondents.trustee, "collector": respondents.collector},
    plays=respondents.role_of,
    foresee=respondents.foresee,
    rehearse=respondents.rehearse,
    ideal=respondents.ideal,
    judge=respondents.judge,
    accepts=respondents.accepts,
    demonstration=Demonstration(sample="survey"),
)
PROTOCOLS = (PROTOCOL, COLUMNS, RESPONDENTS)
