"""Compiled arithmetic on a party's shares: array index 0 is its own share of a value, 1 the next party's."""

from __future__ import annotations

import numpy as np

from covey.arrays import Words
from covey.compiled import jit


@jit
def product(x: Words, y: Words, first: Words, second: Words) -> Words:
    """Returns this party's masked part of x & y at index 0; plane j of y goes with plane j of x, again and again."""
    out = np.empty_like(y)
    planes, count = y.shape[1], y.shape[2]
    for plane in range(planes):
        a, b = x[0, plane % x.shape[1]], x[1, plane % x.shape[1]]
        c, d = y[0, plane], y[1, plane]
        e, f = first[plane], second[plane]
        for i in range(count):
            out[0, plane, i] = (a[i] & (c[i] ^ d[i])) ^ (b[i] & c[i]) ^ e[i] ^ f[i]
    return out


@jit
def choices(differ: Words, answer: Words) -> tuple[Words, Words]:
    """Returns the operands that make one group of bits of two: the higher group's `differ`, and what it chooses.

    All groups but the last have a `differ`.
    """
    copies, groups, count = answer.shape
    pairs = groups // 2
    top = np.empty((copies, pairs, count), np.uint64)
    options = np.empty((copies, 2 * pairs - 1 + groups % 2, count), np.uint64)
    for copy in range(copies):
        for pair in range(pairs):
            top[copy, pair] = differ[copy, 2 * pair]
            for i in range(count):
                options[copy, pair, i] = answer[copy, 2 * pair, i] ^ answer[copy, 2 * pair + 1, i]
            if pairs + pair < options.shape[1]:
                options[copy, pairs + pair] = differ[copy, 2 * pair + 1]
    return top, options


@jit
def merged(differ: Words, answer: Words, products: Words) -> tuple[Words, Words]:
    """Returns `differ` and `answer` of the groups that pairs became, from the products of their operands."""
    copies, groups, count = answer.shape
    pairs, remaining = groups // 2, groups - groups // 2
    new_differ = np.empty((copies, remaining - 1, count), np.uint64)
    new_answer = np.empty((copies, remaining, count), np.uint64)
    for copy in range(copies):
        for pair in range(pairs):
            for i in range(count):
                new_answer[copy, pair, i] = answer[copy, 2 * pair + 1, i] ^ products[copy, pair, i]
            if pair < remaining - 1:
                for i in range(count):
                    high, low = differ[copy, 2 * pair, i], differ[copy, 2 * pair + 1, i]
                    new_differ[copy, pair, i] = high ^ low ^ products[copy, pairs + pair, i]
        if groups % 2:
            new_answer[copy, pairs] = answer[copy, groups - 1]
    return new_differ, new_answer


def units(a: int, b: int) -> int:
    """Returns how many planes of triples an AND takes, each for one plane of x (of a) and two of y (of b)."""
    return b // (2 * a) * a + min(b % (2 * a), a)


@jit
def under_masks(x: Words, y: Words, u: Words, vs: Words) -> Words:
    """Returns both factors of an AND under masks, x's planes first; a mask of x serves two planes of y."""
    masks, planes, count = u.shape[1], y.shape[1], y.shape[2]
    out = np.empty((2, masks + planes, count), np.uint64)
    for copy in range(2):
        for mask in range(masks):
            factor = x[copy, mask % x.shape[1]]
            for i in range(count):
                out[copy, mask, i] = factor[i] ^ u[copy, mask, i]
        for plane in range(planes):
            time, factor = divmod(plane, x.shape[1])
            mask = vs[time % 2, copy, time // 2 * x.shape[1] + factor]
            for i in range(count):
                out[copy, masks + plane, i] = y[copy, plane, i] ^ mask[i]
    return out


@jit
def from_masks(opened: Words, factors: int, u: Words, vs: Words, ws: Words, ones: Words) -> Words:
    """Returns the shares of the AND, of opened factors under masks and of the triples (D. Beaver, Crypto 1991)."""
    masks, planes, count = u.shape[1], opened.shape[0] - u.shape[1], u.shape[2]
    out = np.empty((2, planes, count), np.uint64)
    for copy in range(2):
        one = ones[copy, 0, 0]
        for plane in range(planes):
            time, factor = divmod(plane, factors)
            k, which = time // 2 * factors + factor, time % 2
            d, e = opened[k], opened[masks + plane]
            for i in range(count):
                masked = (d[i] & vs[which, copy, k, i]) ^ (e[i] & u[copy, k, i]) ^ (one & d[i] & e[i])
                out[copy, plane, i] = ws[which, copy, k, i] ^ masked
    return out
