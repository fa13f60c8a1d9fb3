"""A fuzz target for frames: mutates good traffic and demands that nothing but `PeerError` or `Aborted` comes of it.

Run by hand for as long as you like, and repeat a failure by its seed:

    python tests/hostile/fuzz_frames.py --seconds 600
    python tests/hostile/fuzz_frames.py --seed 123456
"""

from __future__ import annotations

import argparse
import asyncio
import time

from tests.harness.clock import run_jumping
from tests.harness.network import seed_of

from covey.crypto.rng import Rng, Stream
from covey.errors import Aborted, PeerError
from covey.wire import Bytes32, Channel, MemoryNetwork, Message, Nothing, Session, Vector, frame
from covey.wire.frame import Header
from covey.wire.message import encode

SESSION = b"s" * 16


class Sample(Message, tag="fuzz.sample"):
    """A message with the fields that protocols use."""

    values: Vector
    point: Bytes32
    sizes: list[int]
    note: str


def _good(stream: Stream, number: int) -> bytes:
    sample = Sample(Vector(stream.words(stream.below(20))), stream.bytes(32), [stream.below(99)], "step")
    header = Header(frame.VERSION, SESSION, "mallory", "alice", "turn", "fuzz.sample", number, 1 + stream.below(5))
    return frame.place(number, frame.write(header, stream.bytes(16), encode(sample)).raw)


def mutate(good: bytes, stream: Stream) -> bytes:
    """One frame, with a few things wrong with it."""
    bad = bytearray(good)
    for _ in range(1 + stream.below(4)):
        kind = stream.below(6)
        at = stream.below(len(bad)) if bad else 0
        if kind == 0 and bad:
            bad[at] ^= 1 << stream.below(8)
        elif kind == 1:
            del bad[at:]
        elif kind == 2:
            bad[at:at] = stream.bytes(stream.below(64))
        elif kind == 3 and bad:
            bad[at : at + 8] = b"\xff" * 8
        elif kind == 4:
            del bad[at : at + stream.below(40)]
        elif bad:
            bad[at : at + 1] = bytes([0x91]) * stream.below(5000)
    return bytes(bad)


async def attack(seed: int) -> None:
    """Alice reads three messages, of which any may be mutated, repeated, missing or swapped."""
    stream = Rng(seed_of(seed)).stream("fuzz")
    network = MemoryNetwork(["alice", "mallory"])
    session = Session(network.link("alice"), SESSION, Rng(seed_of(1)), Nothing())
    frames = [_good(stream, number) for number in range(3)]
    order = [stream.below(3) for _ in range(3)] if stream.below(3) == 0 else [0, 1, 2]
    for index in order:
        good = frames[index]
        network.deliver("mallory", "alice", mutate(good, stream) if stream.below(2) else good)
    network.leave("mallory")
    channel = Channel(session).at("turn")
    try:
        for _ in range(3):
            await channel.receive("mallory", Sample)
        channel.finish()
    except (PeerError, Aborted):
        return


def fuzz(seconds: float, start: int) -> int:
    """Runs seed after seed until the time is up; the number of seeds. The failing seed is in the error."""
    end = time.monotonic() + seconds
    seed = start
    while time.monotonic() < end:
        try:
            run_jumping(_many(seed, seed + 200))
        except BaseExceptionGroup as group:
            raise AssertionError(str(group)) from group
        seed += 200
    return seed - start


async def _many(first: int, last: int) -> None:
    for seed in range(first, last):
        try:
            async with asyncio.timeout(60):
                await attack(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed} ended in {type(error).__name__}: {error}") from error


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, help="repeat this one seed")
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    if options.seed is not None:
        run_jumping(attack(options.seed))
        print(f"seed {options.seed}: refused or read, as it should be")
    else:
        print(f"{fuzz(options.seconds, options.start)} seeds, all refused or read, as they should be")


if __name__ == "__main__":
    main()
