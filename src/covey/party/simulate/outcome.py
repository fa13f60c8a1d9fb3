"""The result of a simulation in Python: the release, its figures, the ledger, and a way to keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from covey.errors import InputError
from covey.party.identity.keys import Keys
from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.run_record import Finished
from covey.party.record.summary import join_summaries, summarize
from covey.party.simulate import document
from covey.sources.frames import Frame
from covey.sources.release import canonical_csv
from covey.study import Study
from covey.summary import Summary


@dataclass(frozen=True)
class Loss:
    """The release's information loss by measure; None where a protocol does not compute one."""

    lm: float | None = None
    em: float | None = None
    dm: float | None = None
    c_avg: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One party's end of a simulation."""

    ledger: Ledger
    finished: Finished
    keys: Keys


@dataclass(frozen=True)
class JointRelease:
    """A joint release, with what every party learned."""

    study: Study
    table: Frame
    outcomes: Mapping[str, Outcome]
    reproducible: bool

    @property
    def loss(self) -> Loss:
        """The release's information loss."""
        figures = self._holder.finished.figures
        return Loss() if figures is None else Loss(**figures.loss)

    @property
    def ledger(self) -> dict[str, list[str]]:
        """Sentences on what each party learned."""
        return {name: outcome.ledger.own for name, outcome in self.outcomes.items()}

    @property
    def summary(self) -> dict[str, object]:
        """The content of summary.json for the run as a whole."""
        return self.joint.describe()

    @property
    def joint(self) -> Summary:
        """The joint summary of all parties."""
        summaries = {
            name: summarize(self.study, each.ledger, each.finished, name, reproducible=self.reproducible)
            for name, each in self.outcomes.items()
        }
        ledger = [sentence for sentences in self._holder.ledger.lines.values() for sentence in sentences]
        return join_summaries(summaries[self._holder.ledger.party], summaries.values(), ledger)

    def save(self, out: str | Path) -> None:
        """Writes the joint files into a folder, and a folder per party below it."""
        folder = RunFolder(Path(out))
        folder.prepare()
        for name, outcome in self.outcomes.items():
            own = RunFolder(folder.path / name)
            own.prepare()
            _keep_study(own, self.study)
            own.keep(self.study, outcome.ledger, outcome.finished, name, outcome.keys, reproducible=self.reproducible)
        _keep_study(folder, self.study)
        closed = self._holder.finished.record.closed
        certificate = b"" if closed is None else closed.certificate.spell()
        folder.keep_joint(self.study, self.joint, canonical_csv(released(self.outcomes)), certificate)

    @property
    def _holder(self) -> Outcome:
        """A party that has the release."""
        for outcome in self.outcomes.values():
            if outcome.finished.release is not None:
                return outcome
        raise InputError("no party of this study gets a release")


def _keep_study(folder: RunFolder, study: Study) -> None:
    """A copy of the study with the roster of the simulation, so that what it left can be audited."""
    if study.path is None or not study.path.is_file():
        folder.keep_study(study)
        return
    content = document.read(study.path)
    certificates = {
        party.name: party.certificate.as_posix() for party in study.parties if party.certificate is not None
    }
    document.give_roster(content, {}, certificates)
    document.save(content, study.files, folder.path)


def released(outcomes: Mapping[str, Outcome]) -> pa.Table:
    """The release, which all who have it have alike."""
    found = [outcome.finished.release for outcome in outcomes.values() if outcome.finished.release is not None]
    if not found:
        raise InputError("no party of this study gets a release")
    return found[0]


def as_text(table: pa.Table) -> pa.Table:
    """The table with plain text columns, as frames outside expect them."""
    return pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
