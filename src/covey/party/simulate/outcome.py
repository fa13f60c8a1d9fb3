"""The end of a simulation: every party's outcome, the joint release that they make, and the folders that they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey.errors import InputError
from covey.party.identity.keys import Keys
from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.names import CERTIFICATE, CLASSES, RELEASE
from covey.party.record.run_record import Finished
from covey.party.record.summary import join_summaries, summarize
from covey.release import Release
from covey.sources import Data, as_given
from covey.study import Study, document
from covey.summary import Summary


@dataclass(frozen=True)
class Outcome:
    """One party's end of a simulation."""

    ledger: Ledger
    finished: Finished
    keys: Keys


@dataclass(frozen=True)
class JointRun:
    """A simulation's end for all parties: it makes the release, and knows the folders that a run leaves."""

    study: Study
    outcomes: Mapping[str, Outcome]
    reproducible: bool

    def release(self, data: Data | None) -> Release:
        """The joint release, as the kind of table that `data` is. Raises InputError if no party gets one."""
        table = self._holder.finished.release
        ledger = {name: outcome.ledger.own for name, outcome in self.outcomes.items()}
        return Release(self.study, as_given(table, data), self.summary, ledger, table, self)

    @property
    def summary(self) -> Summary:
        """The joint summary of all parties."""
        summaries = {
            name: summarize(self.study, each.ledger, each.finished, name, reproducible=self.reproducible)
            for name, each in self.outcomes.items()
        }
        ledger = [sentence for sentences in self._holder.ledger.lines.values() for sentence in sentences]
        return join_summaries(summaries[self._holder.ledger.party], summaries.values(), ledger)

    def save(self, release: Release, folder: Path) -> None:
        """Writes the joint files into a folder, and a folder per party below it."""
        joint = RunFolder(folder)
        joint.prepare()
        for name, outcome in self.outcomes.items():
            own = RunFolder(joint.path / name)
            own.prepare()
            _keep_study(own, self.study)
            own.keep(self.study, outcome.ledger, outcome.finished, name, outcome.keys, reproducible=self.reproducible)
        _keep_study(joint, self.study)
        finished, contents = self._holder.finished, {RELEASE: release.content}
        if finished.record.closed is not None:
            contents[CERTIFICATE] = finished.record.closed.certificate.spell()
        if finished.classes is not None:
            contents[CLASSES] = finished.classes
        joint.keep_joint(self.study, self.summary, contents)

    @property
    def _holder(self) -> Outcome:
        """A party that has the release."""
        for outcome in self.outcomes.values():
            if outcome.finished.release is not None:
                return outcome
        raise InputError("no party of this study gets a release")


def _keep_study(folder: RunFolder, study: Study) -> None:
    """A copy of the study with the roster of the simulation, so that what it left can be audited."""
    if study.text is None:
        folder.keep_study(study)
        return
    content = document.of(study)
    certificates = {
        party.name: party.certificate.as_posix() for party in study.parties if party.certificate is not None
    }
    document.give_roster(content, {}, certificates)
    document.save(content, study.files, folder.path)
