"""Randomness: labelled, reproducible, unbiased, and from one door."""

from __future__ import annotations

import ast
import copy
import multiprocessing
import os
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey.crypto.rng import Rng, fresh_seed, spell
from covey.crypto.secret import Secret
from covey.errors import InputError

SEED = Secret(bytes(range(32)))

labels = st.lists(st.one_of(st.text(max_size=8), st.integers(), st.binary(max_size=8)), max_size=4)


def test_equal_seeds_and_labels_give_equal_bytes() -> None:
    assert Rng(SEED).stream("sum", 7).bytes(100) == Rng(SEED).stream("sum", 7).bytes(100)


def test_the_stream_is_fixed_for_good_so_that_old_journals_replay() -> None:
    assert Rng(SEED).stream("sum", 7).bytes(8).hex() == "feaf3fe6e5ad2e00"
    assert Rng(SEED).salt("sum", 7).hex() == "daea1597f2d4ea81e87890f32ab33d0c"


def test_other_labels_other_seeds_and_children_give_other_bytes() -> None:
    drawn = {
        Rng(SEED).stream("sum", 7).bytes(16),
        Rng(SEED).stream("sum", 8).bytes(16),
        Rng(SEED).stream("sum", "7").bytes(16),
        Rng(SEED).child("sum").stream(7).bytes(16),
        Rng(fresh_seed()).stream("sum", 7).bytes(16),
        Rng(SEED).salt("sum", 7),
    }
    assert len(drawn) == 6


@given(labels, labels)
def test_no_two_sequences_of_labels_are_spelled_alike(one: list[str], other: list[str]) -> None:
    assert (spell(*one) == spell(*other)) == (one == other and list(map(type, one)) == list(map(type, other)))


def test_drawing_in_pieces_gives_the_same_bytes_as_drawing_at_once() -> None:
    whole = Rng(SEED).stream("a").bytes(3_000_000)
    pieces = Rng(SEED).stream("a")
    assert b"".join(pieces.bytes(size) for size in (1, 15, 17, 1 << 20, 3_000_000 - 33 - (1 << 20))) == whole
    assert Rng(SEED).stream("a").words(375_000).astype("<u8").tobytes() == whole


def test_the_same_labels_cannot_be_drawn_twice() -> None:
    rng = Rng(SEED)
    rng.stream("mask", 1)
    with pytest.raises(InputError, match="drawn before"):
        rng.stream("mask", 1)
    rng.child("step", "a").stream("x")
    with pytest.raises(InputError, match="drawn before"):
        rng.child("step", "a").stream("x")


@given(st.integers(1, 1 << 80))
def test_what_is_drawn_below_a_bound_is_below_it(bound: int) -> None:
    assert 0 <= Rng(SEED).stream(bound).below(bound) < bound


@pytest.mark.parametrize("bound", [1, 2, 3, 7])
def test_words_below_a_small_bound_are_all_equally_likely(bound: int) -> None:
    counts = np.bincount(Rng(SEED).stream(bound).words_below(bound, 70_000).astype(np.int64), minlength=bound)
    assert len(counts) == bound
    assert np.all(np.abs(counts - 70_000 / bound) < 1500)


def test_words_below_a_large_bound_are_unbiased() -> None:
    bound = 3 << 62  # without rejection the lowest third would be drawn half of the time
    words = Rng(SEED).stream("large").words_below(bound, 60_000)
    assert np.all(words < np.uint64(bound))
    assert abs(np.mean(words < np.uint64(1 << 62)) - 1 / 3) < 0.01
    assert len(Rng(SEED).stream("all").words_below(1 << 64, 5)) == 5


def test_permutations_are_permutations_and_all_occur_about_equally_often() -> None:
    stream = Rng(SEED).stream("p")
    seen = [tuple(stream.permutation(3)) for _ in range(6000)]
    assert sorted(set(seen)) == [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    assert all(850 < seen.count(order) < 1150 for order in set(seen))
    assert sorted(stream.permutation(1000)) == list(range(1000))
    assert list(stream.permutation(0)) == []


def test_scalars_are_never_zero_and_below_the_order() -> None:
    stream = Rng(SEED).stream("s")
    assert {stream.scalar(3) for _ in range(50)} == {1, 2}
    assert int.from_bytes(stream.scalar_bytes(1 << 252), "little") < 1 << 252


def test_a_bound_below_which_nothing_lies_is_refused() -> None:
    stream = Rng(SEED).stream("b")
    for draw in (lambda: stream.below(0), lambda: stream.words_below(0, 1), lambda: stream.words_below(1 << 65, 1)):
        with pytest.raises(InputError):
            draw()


def test_a_stream_is_refused_in_a_forked_child() -> None:
    stream = Rng(SEED).stream("forked")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream.bytes(1)
            os.write(writing, b"drew")
        except InputError:
            os.write(writing, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 16) == b"refused"
    os.close(reading)
    os.close(writing)


def _draw_elsewhere(_: int) -> str:
    return Rng(SEED).stream("a", 3).bytes(16).hex()


def test_a_spawned_process_draws_the_same_stream_from_the_same_seed() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_draw_elsewhere, [0]) == [_draw_elsewhere(0)]


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(b"s" * 32)
    assert "ss" not in repr(secret) + repr(Rng(secret)) + repr(Rng(secret).stream("x")) + f"{secret}"
    with pytest.raises(TypeError):
        ForkingPickler.dumps(secret)
    with pytest.raises(TypeError):
        msgspec.msgpack.encode(secret)
    with pytest.raises(TypeError):
        msgspec.json.encode({"seed": secret})
    with pytest.raises(TypeError):
        hash(secret)
    assert copy.deepcopy(secret) == secret == Secret(b"s" * 32) != Secret(b"t" * 32)
    with pytest.raises(InputError):
        Secret(b"short")


ALLOWED = {
    "os.urandom": ("crypto/rng.py",),
    # what a trusted party would answer, what a plan expects and what an attack would find: nothing secret is drawn
    "numpy.random": (
        "anonymizers/",
        "bench/",
        "protocols/as_printed/collect/attack.py",
        "evaluation/",
        "report/",
        "protocols/shared/query_errors.py",  # queries follow from public classes
    ),
}
NEVER = ("random", "secrets", "uuid")


def _foreign_randomness(path: Path, root: Path) -> list[str]:
    """The sources of randomness that a file touches, by looking at its imports and attributes."""
    place = path.relative_to(root).as_posix()
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute):
            spelled = ast.unparse(node)
            names = [spelled.replace("np.", "numpy.", 1) if spelled.startswith("np.") else spelled]
        line = getattr(node, "lineno", 0)
        for name in names:
            if name.split(".")[0] in NEVER and not isinstance(node, ast.Attribute):
                found.append(f"{place}:{line}: {name}")
            if name.endswith((".generate_private_key", "PrivateKey.generate")) and not place.startswith(
                ("party/identity/keys", "party/identity/relay_config")
            ):
                found.append(f"{place}:{line}: {name}")
            for source, rooms in ALLOWED.items():
                if (name == source or name.startswith(source + ".")) and not place.startswith(rooms):
                    found.append(f"{place}:{line}: {name}")
    return found


def test_nothing_else_in_the_package_draws_randomness() -> None:
    root = Path(covey.__file__).parent
    found = [line for path in sorted(root.rglob("*.py")) for line in _foreign_randomness(path, root)]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "from secrets import token_bytes",
        "import os\nos.urandom(3)",
        "from os import urandom",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng",
        "import uuid",
        "key = X25519PrivateKey.generate()",
    ],
)
def test_the_search_for_other_randomness_finds_it(line: str, tmp_path: Path) -> None:
    (tmp_path / "wire.py").write_text(line)
    assert _foreign_randomness(tmp_path / "wire.py", tmp_path) != []
