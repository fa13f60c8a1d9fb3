"""Bytes between two parties over a broker that may lose, repeat or reorder what it carries: a transport for TLS.

Each packet names its connection and the place of its bytes in the stream, and says how far the sender has received the
other direction and up to where it has room. Bytes are kept until the other side has received them, and sent again by a
timer; at most a window of them is under way, and room is given only for what TLS has taken. So a reader that is slow
slows the writer, and a broker that drops things costs time. TLS on top notices whatever was changed.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

HEAD = struct.Struct(">B16sQQQ")
"""Kind, connection, place of the bytes, place up to which we have received, place up to which we have room."""
DATA, FIN, RESET, GAP, HAD, ASK = range(6)
"""Bytes or an acknowledgement, the end, an unknown connection, something missing, something twice, a question."""
ANSWERING = 0x80
"""Marks the packets of the side that was called: what it says first is no call of its own."""
WINDOW = 4 << 20
PIECE = 1 << 18
"""Bytes of one packet, where the broker's limit allows that many."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 2.0
"""Seconds after which something is sent again; longer where round trips are long."""
GIVE_UP_SECONDS = 90.0
"""Seconds without a sign of the other side after which a connection with something to send is given up."""
_ACK_SECONDS = 0.02
_WRITE_AHEAD = 1 << 20
_CLOSE_SECONDS = 10.0

Send = Callable[[bytes, "bytes | memoryview"], bool]
"""Hands a head and content to the broker; False if it takes nothing now."""


@dataclass
class _Piece:
    """Bytes that were sent, and that the other side may lack."""

    place: int
    content: bytes
    sent: float
    """The time at which it was sent; 0 if it was sent again."""

    @property
    def end(self) -> int:
        return self.place + len(self.content)


class Carrier(asyncio.Transport):
    """One end of a connection between two parties. Reading is paused at first: bytes wait until TLS is attached."""

    _start_tls_compatible = True

    def __init__(
        self,
        name: bytes,
        side: int,
        send: Send,
        most: Callable[[], int],
        gone: Callable[[], None],
        window: int = WINDOW,
    ) -> None:
        """`most` is the longest packet that the broker takes now; `gone` is called once the connection is over.

        `side` is `ANSWERING` for the side that was called, and 0 for the caller.
        """
        super().__init__({"relay": self})
        self._loop = asyncio.get_running_loop()
        self._name, self._side, self._send, self._most, self._gone = name, side, send, most, gone
        self._window = window
        self._protocol: asyncio.BaseProtocol = asyncio.Protocol()
        self._closing = self._over = False
        self._heard = self._loop.time()
        # what we send
        self._unsent = bytearray()
        self._flight: deque[_Piece] = deque()
        self._next = self._received = 0
        self._room = window
        self._recovering = False
        self._again = self._resent = 0
        self._round_trip: float | None = None
        self._pause = SHORTEST_PAUSE
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._high = _WRITE_AHEAD
        self._full = False
        # what we receive
        self._waiting: deque[bytes] = deque()
        self._early: dict[int, bytes] = {}
        self._due = self._taken = self._told = 0
        self._end: int | None = None
        self._reading = self._feeding = False
        self._ack: asyncio.TimerHandle | None = None

    # -- for TLS

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._loop.call_soon(self._feed)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = _WRITE_AHEAD if high is None else high

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def write(self, data: Any) -> None:
        if self._closing or self._over:
            return
        self._unsent += data
        self.pump()
        if len(self._unsent) > self._high and not self._full:
            self._full = True
            self._protocol.pause_writing()

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self._closing or self._over

    def close(self) -> None:
        """Ends the connection once the other side has all that was written, or soon."""
        if not self.is_closing():
            self._closing = True
            self._ending = self._loop.call_later(_CLOSE_SECONDS, self._lose, None)
            self.pump()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._lose(None)

    def _force_close(self, error: Exception | None) -> None:
        """Ends the connection at once; TLS calls it when a handshake fails."""
        self._lose(error)

    # -- for the exchange

    def pump(self) -> None:
        """Sends as much as there is room for, here, there and at the broker."""
        if self._over:
            return
        while self._unsent and not self._recovering and self._next < min(self._room, self._received + self._window):
            room = min(self._room, self._received + self._window) - self._next
            piece = bytes(memoryview(self._unsent)[: min(room, PIECE, self._window // 4)])
            if not self._say(DATA, self._next, piece):
                break
            del self._unsent[: len(piece)]
            self._flight.append(_Piece(self._next, piece, self._loop.time()))
            self._next += len(piece)
        if self._closing and not self._unsent and not self._flight:
            self._say(FIN, self._next)
        if self._full and len(self._unsent) <= self._high // 4:
            self._full = False
            self._protocol.resume_writing()
        self._set_timer()

    def resend_now(self) -> None:
        """The broker is there again: what was under way may be lost."""
        if self._flight or self._unsent or self._closing:
            self._pause = self._shortest
            self._resend()

    def take(self, kind: int, place: int, received: int, room: int, content: bytes) -> None:
        """A packet of the other side has come."""
        if self._over:
            return
        self._heard = self._loop.time()
        if kind == RESET:
            self._lose(None if self._closing else ConnectionResetError("the other side does not know this connection"))
            return
        self._acknowledged(received, room)
        if kind == GAP and self._flight and not self._recovering:
            self._recover()
        elif kind == HAD and self._recovering:
            self._recovering = False  # it was under way, and not lost
            self.pump()
        elif kind == FIN:
            self._end = place
        if content:
            self._store(place, content)
        self._feed()
        if kind in (FIN, ASK):
            self._tell_now()

    # -- sending

    def _acknowledged(self, received: int, room: int) -> None:
        if self._over or not self._received <= received <= self._next + self._closing:
            return
        self._room = max(self._room, room)
        if received > self._received:
            self._received = min(received, self._next)
            while self._flight and self._flight[0].end <= received:
                self._measure(self._flight.popleft())
            self._pause = self._shortest
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._recovering = self._recovering and bool(self._flight)
            if self._recovering and received >= self._resent:
                self._send_again(2 * self._again)
        if self._closing and received > self._next:
            self._lose(None)
        else:
            self.pump()

    def _measure(self, piece: _Piece) -> None:
        """Learns how long a round trip takes, from what was sent once."""
        if piece.sent:
            seconds = self._loop.time() - piece.sent
            self._round_trip = seconds if self._round_trip is None else 0.8 * self._round_trip + 0.2 * seconds

    @property
    def _shortest(self) -> float:
        return SHORTEST_PAUSE + 2 * (self._round_trip or 0.0)

    def _set_timer(self) -> None:
        if self._timer is None and (self._flight or self._unsent or self._closing) and not self._over:
            self._timer = self._loop.call_later(self._pause, self._timed_out)

    def _timed_out(self) -> None:
        self._timer = None
        if self._loop.time() - self._heard > GIVE_UP_SECONDS:
            self._lose(TimeoutError("nothing came from the other side"))
            return
        self._pause = max(self._shortest, min(2 * self._pause, LONGEST_PAUSE))
        self._resend()

    def _resend(self) -> None:
        if self._flight:
            self._recover()
        else:
            self._say(ASK, self._next)
        self.pump()

    def _recover(self) -> None:
        """Sends the first piece that the other side lacks; once it has that, the next two, and so on."""
        self._recovering = True
        self._send_again(1)

    def _send_again(self, count: int) -> None:
        self._again = count
        for piece in islice(self._flight, count):
            piece.sent = 0.0
            self._resent = piece.end
            self._say(DATA, piece.place, piece.content)

    def _say(self, kind: int, place: int, content: bytes = b"") -> bool:
        most = self._most() - HEAD.size
        if most <= 0 or self._over:
            return False
        view = memoryview(content)
        while True:
            head = HEAD.pack(kind | self._side, self._name, place, self._due + self._ended, self._taken + self._window)
            if not self._send(head, view[:most]):
                return False
            place, view = place + most, view[most:]
            if not view:
                break
        self._told = self._taken
        return True

    # -- receiving

    @property
    def _ended(self) -> bool:
        """True once all that the other side has written is here."""
        return self._end is not None and self._due >= self._end

    def _store(self, place: int, content: bytes) -> None:
        if place > self._due:
            if place + len(content) <= self._taken + self._window and len(self._early) < self._window // 1024:
                self._early[place] = content
            self._tell_now(GAP)
            return
        if place + len(content) <= self._due:
            self._tell_now(HAD)
            return
        self._accept(place, content)
        while self._early and (first := min(self._early)) <= self._due:
            self._accept(first, self._early.pop(first))

    def _accept(self, place: int, content: bytes) -> None:
        fresh = content[self._due - place :]
        if fresh and self._due + len(fresh) <= self._taken + self._window:
            self._waiting.append(fresh)
            self._due += len(fresh)

    def _feed(self) -> None:
        """Gives TLS what has come, unless it has enough."""
        if self._feeding or self._over:
            return
        self._feeding = True
        try:
            while self._waiting and self._reading:
                content = self._waiting.popleft()
                count = self._give(content)
                if count < len(content):
                    self._waiting.appendleft(content[count:])
        finally:
            self._feeding = False
        if self._ended and not self._waiting and self._reading:
            self._reading = False
            if isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol):
                self._protocol.eof_received()
            self.close()
        if self._taken - self._told >= self._window // 8:
            self._tell_now()
        elif (self._taken > self._told or self._due > self._taken) and self._ack is None:
            self._ack = self._loop.call_later(_ACK_SECONDS, self._tell_now)

    def _give(self, content: bytes) -> int:
        """Hands bytes to the protocol; how many it took."""
        count = len(content)
        if isinstance(self._protocol, asyncio.BufferedProtocol):
            buffer = memoryview(self._protocol.get_buffer(count))
            count = min(len(buffer), count)
            buffer[:count] = memoryview(content)[:count]
            self._protocol.buffer_updated(count)
        elif isinstance(self._protocol, asyncio.Protocol):
            self._protocol.data_received(content)
        self._taken += count
        return count

    def _tell_now(self, kind: int = DATA) -> None:
        """Says how far we are."""
        if self._ack is not None:
            self._ack.cancel()
            self._ack = None
        self._say(kind, self._next)

    # -- the end

    def _lose(self, error: Exception | None) -> None:
        if self._over:
            return
        if not (self._closing and self._received == self._next):
            self._say(RESET, self._next)
        self._over, self._reading = True, False
        for handle in (self._timer, self._ack, self._ending):
            if handle is not None:
                handle.cancel()
        self._unsent.clear()
        self._flight.clear()
        self._waiting.clear()
        self._early.clear()
        self._gone()
        self._loop.call_soon(self._protocol.connection_lost, error)
