"""SHA-256 of many short messages at once: a number and 32 bytes each, of whose digest one bit is wanted.

One bit of a digest hides 32 bytes from whoever cannot guess them, which is what oblivious transfers need by the million
(`covey.protocols.peel.choice`). The messages fit one block of SHA-256, and several are worked on side by side.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Octets, Words32
from covey.compiled import jit as compiled

_LANES = 32


def first_bits(rows: Octets, first: int) -> Bits:
    """The lowest bit of the first byte of SHA-256(number, row), for each row of 32 bytes, numbered from `first` on."""
    words = np.ascontiguousarray(rows).view(">u4").astype(np.uint32)
    return _first_bits(words, np.uint64(first), _START, _ROUNDS)


def _primes(number: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < number:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def _root(number: int, degree: int) -> int:
    """The first 32 bits of the fraction of a whole number's root."""
    target, root = number << (32 * degree), 0
    for bit in range(39, -1, -1):
        if (root | 1 << bit) ** degree <= target:
            root |= 1 << bit
    return root & 0xFFFFFFFF


_START = np.array([_root(prime, 2) for prime in _primes(8)], dtype=np.uint32)
_ROUNDS = np.array([_root(prime, 3) for prime in _primes(64)], dtype=np.uint32)


@compiled
def _turned(word: np.uint32, by: int) -> np.uint32:
    return np.uint32((word >> np.uint32(by)) | (word << np.uint32(32 - by)))


@compiled
def _first_bits(rows: Words32, first: np.uint64, start: Words32, constants: Words32) -> Bits:
    """One block per message; loops over lanes are innermost, so that the processor works on several at a time."""
    answer = np.empty(len(rows), np.bool_)
    words, state = np.zeros((64, _LANES), np.uint32), np.empty((8, _LANES), np.uint32)
    for begin in range(0, len(rows), _LANES):
        size = min(_LANES, len(rows) - begin)
        for lane in range(size):
            number = first + np.uint64(begin + lane)
            words[0, lane] = np.uint32(number >> np.uint64(32))
            words[1, lane] = np.uint32(number & np.uint64(0xFFFFFFFF))
            for place in range(8):
                words[2 + place, lane] = rows[begin + lane, place]
            words[10, lane] = np.uint32(0x80000000)
            words[15, lane] = np.uint32(320)
        for turn in range(16, 64):
            for lane in range(_LANES):
                early, late = words[turn - 15, lane], words[turn - 2, lane]
                low = _turned(early, 7) ^ _turned(early, 18) ^ (early >> np.uint32(3))
                high = _turned(late, 17) ^ _turned(late, 19) ^ (late >> np.uint32(10))
                words[turn, lane] = np.uint32(words[turn - 16, lane] + low + words[turn - 7, lane] + high)
        for place in range(8):
            state[place, :] = start[place]
        for turn in range(64):
            a, b, c, d = state[-turn & 7], state[(1 - turn) & 7], state[(2 - turn) & 7], state[(3 - turn) & 7]
            e, f, g, h = state[(4 - turn) & 7], state[(5 - turn) & 7], state[(6 - turn) & 7], state[(7 - turn) & 7]
            constant = constants[turn]
            for lane in range(_LANES):
                x, y = e[lane], a[lane]
                mixed = _turned(x, 6) ^ _turned(x, 11) ^ _turned(x, 25)
                chosen = (x & f[lane]) ^ (~x & g[lane])
                more = np.uint32(h[lane] + mixed + chosen + constant + words[turn, lane])
                above = _turned(y, 2) ^ _turned(y, 13) ^ _turned(y, 22)
                most = (y & b[lane]) ^ (y & c[lane]) ^ (b[lane] & c[lane])
                d[lane] = np.uint32(d[lane] + more)
                h[lane] = np.uint32(more + above + most)
        for lane in range(size):
            answer[begin + lane] = ((start[0] + state[0, lane]) >> np.uint32(24)) & np.uint32(1) == np.uint32(1)
    return answer
