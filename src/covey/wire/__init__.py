"""How parties speak: typed messages, bounded frames, channels, and the links that carry them."""

from __future__ import annotations

from covey.wire.channel import Channel, Session
from covey.wire.depth import gather
from covey.wire.frame import FRAME_BYTES, Header, Letter
from covey.wire.link import Link
from covey.wire.memory import MemoryNetwork
from covey.wire.message import Bytes16, Bytes32, Bytes64, Count, Message, Name, Vector
from covey.wire.opening import open_channel, plain_channel
from covey.wire.record import Entry, Notebook, Nothing, Recorder, Tally

__all__ = [
    "FRAME_BYTES",
    "Bytes16",
    "Bytes32",
    "Bytes64",
    "Channel",
    "Count",
    "Entry",
    "Header",
    "Letter",
    "Link",
    "MemoryNetwork",
    "Message",
    "Name",
    "Notebook",
    "Nothing",
    "Recorder",
    "Session",
    "Tally",
    "Vector",
    "gather",
    "open_channel",
    "plain_channel",
]
