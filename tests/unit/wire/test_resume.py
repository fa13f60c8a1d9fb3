"""Replay: a role that is cut anywhere and started again ends as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness.clock import run_jumping
from tests.harness.network import seed_of
from tests.harness.notebook import Notebook

from covey.crypto.rng import Rng
from covey.errors import CoveyError
from covey.secure import sum as secure_sum
from covey.wire import Channel, Letter, MemoryNetwork, Message, ResumedLink, Vector, gather, open_channel
from covey.wire.link import Link

SESSION = b"one session only"
NAMES = ("a", "b", "c")


class Seen(Message, tag="test.seen"):
    """What a party makes of the total."""

    values: Vector


class Counting:
    """A link that counts the frames it is given."""

    def __init__(self, link: Link) -> None:
        self.me, self.peers = link.me, link.peers
        self._link, self.sent = link, 0
        self.receive, self.heard, self.close = link.receive, link.heard, link.close

    async def send(self, peer: str, frame: bytes) -> None:
        """Counts, then sends."""
        self.sent += 1
        await self._link.send(peer, frame)


class DyingNotebook(Notebook):
    """Writes down until its party dies: before it sends or reads its n-th message."""

    def __init__(self, life: int) -> None:
        super().__init__()
        self.life = life

    def _age(self) -> None:
        if self.life == 0:
            raise CoveyError("died")
        self.life -= 1

    async def sent(self, letter: Letter) -> None:
        """Dies before the letter leaves."""
        self._age()
        await super().sent(letter)

    async def received(self, letter: Letter) -> None:
        """Dies before the letter is on disk."""
        self._age()
        await super().received(letter)


async def role(channel: Channel) -> list[int]:
    """Two sums with something to say in between, side by side with a third."""

    async def twice() -> list[int]:
        first = await secure_sum.total(channel.at("first"), np.arange(3, dtype=np.uint64))
        seen = await channel.at("seen").exchange(Seen(Vector(first)))
        second = await secure_sum.total(channel.at("second"), seen[channel.peers[0]].values.words)
        return [int(word) for word in second]

    async def aside() -> list[int]:
        return [int(word) for word in await secure_sum.total(channel.at("aside"), np.ones(2, dtype=np.uint64))]

    first, second = await gather(twice(), aside())
    return first + second


async def live(link: Link, notebook: Notebook) -> list[int] | CoveyError:
    """One life of one party."""
    try:
        channel = await open_channel(
            link, Rng(seed_of(ord(link.me))), session=SESSION, recorder=notebook, silence=5, patience=10
        )
        answer = await role(channel)
        channel.finish()
    except CoveyError as error:
        return error
    else:
        return answer
    finally:
        await link.close()


async def all_live(notebooks: dict[str, Notebook], links: dict[str, Link]) -> dict[str, list[int] | CoveyError]:
    """One life of all parties together."""
    answers = await gather(*(live(links[name], notebooks[name]) for name in NAMES))
    return dict(zip(NAMES, answers, strict=True))


def fresh_links() -> dict[str, Link]:
    """Lines between all parties."""
    network = MemoryNetwork(NAMES)
    return {name: network.link(name) for name in NAMES}


def resumed(link: Link, earlier: dict[str, Notebook]) -> ResumedLink:
    """That party's line, with what its own notebook and the others' know of the earlier life."""
    known = {
        peer: [entry.digest for entry in earlier[peer].received_entries if entry.header.sender == link.me]
        for peer in link.peers
    }
    return ResumedLink(link, earlier[link.me].letters, known)


def uninterrupted() -> tuple[dict[str, list[int] | CoveyError], dict[str, Notebook]]:
    """The run that nothing disturbs."""
    notebooks = {name: Notebook() for name in NAMES}
    return run_jumping(all_live(notebooks, fresh_links())), notebooks


MESSAGES = 2 * 2 * 5  # sent and read by each party: keys, three sums, one exchange


def test_the_undisturbed_run_has_as_many_messages_as_are_cut_below() -> None:
    answers, notebooks = uninterrupted()
    assert answers == {name: [0, 9, 18, 3, 3] for name in NAMES}
    for notebook in notebooks.values():
        assert len(notebook.sent_entries) + len(notebook.received_entries) == MESSAGES


@pytest.mark.parametrize("victim", NAMES)
@pytest.mark.parametrize("life", range(MESSAGES))
def test_a_party_that_dies_at_any_message_resumes_to_the_same_end(victim: str, life: int) -> None:
    expected, undisturbed = uninterrupted()
    first: dict[str, Notebook] = {name: Notebook() for name in NAMES}
    first[victim] = DyingNotebook(life)
    answers = run_jumping(all_live(first, fresh_links()))
    assert isinstance(answers[victim], CoveyError)
    links = {name: Counting(link) for name, link in fresh_links().items()}
    second = {name: Notebook() for name in NAMES}
    again = run_jumping(all_live(second, {name: resumed(link, first) for name, link in links.items()}))
    assert again == expected
    for name in NAMES:
        said = {(entry.header.recipient, entry.header.step): entry.digest for entry in second[name].sent_entries}
        assert said == {(e.header.recipient, e.header.step): e.digest for e in undisturbed[name].sent_entries}
        lacking = sum(
            len(undisturbed[peer].received_entries) // 2
            - sum(entry.header.sender == name for entry in first[peer].received_entries)
            for peer in NAMES
            if peer != name
        )
        assert links[name].sent == lacking
