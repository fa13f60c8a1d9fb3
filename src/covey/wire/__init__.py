"""The wire between parties: typed messages, bounded frames, channels, and the links that carry them."""

from __future__ import annotations

from covey.wire.channel import Channel, Session
from covey.wire.chunks import Announced, Chunk
from covey.wire.contact import Address, Contact
from covey.wire.depth import gather, while_sending
from covey.wire.frame import FRAME_BYTES, Header, Letter
from covey.wire.link import Link
from covey.wire.memory import MemoryNetwork, StarNetwork
from covey.wire.message import Bytes16, Bytes32, Bytes64, Count, Message, Name, Vector
from covey.wire.opening import open_channel, plain_channel
from covey.wire.record import Nothing, Recorder, Several, Tally
from covey.wire.resume import ResumedLink
from covey.wire.slow import parse_bandwidth, parse_latency, slowed
from covey.wire.thread import on_own_thread
from covey.wire.tls import Meeting

__all__ = [
    "FRAME_BYTES",
    "Address",
    "Announced",
    "Bytes16",
    "Bytes32",
    "Bytes64",
    "Channel",
    "Chunk",
    "Contact",
    "Count",
    "Header",
    "Letter",
    "Link",
    "Meeting",
    "MemoryNetwork",
    "Message",
    "Name",
    "Nothing",
    "Recorder",
    "ResumedLink",
    "Session",
    "Several",
    "StarNetwork",
    "Tally",
    "Vector",
    "gather",
    "on_own_thread",
    "open_channel",
    "parse_bandwidth",
    "parse_latency",
    "plain_channel",
    "slowed",
    "while_sending",
]
