"""Hypothesis strategies for what the library works on: labels, hierarchies, tables."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from covey.cells import clean
from covey.hierarchy import Hierarchy

labels = (
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
    .map(clean)
    .filter(lambda text: text not in ("", "*") and clean(text) == text)
)


@st.composite
def hierarchies(draw: st.DrawFn, most_leaves: int = 12, most_levels: int = 4) -> Hierarchy:
    """Trees of any shape with distinct labels; a node with one child may share its child's label."""
    leaves = draw(st.lists(labels, min_size=1, max_size=most_leaves, unique=True))
    inner = draw(st.integers(0, most_levels - 2))
    group = np.arange(len(leaves))
    paths = [[leaf] for leaf in leaves]
    taken = set(leaves)
    for level in range(inner):
        parents = draw(st.lists(st.integers(0, len(leaves) - 1), min_size=len(leaves), max_size=len(leaves)))
        group = np.array([parents[own] for own in group])
        names = {}
        for own in sorted(set(group.tolist())):
            members = [row for row in range(len(leaves)) if group[row] == own]
            below = {paths[row][-1] for row in members}
            if len(below) == 1 and draw(st.booleans()):
                names[own] = below.pop()
            else:
                names[own] = next(name for i in range(1000) if (name := f"n{level}.{own}.{i}") not in taken)
            taken.add(names[own])
        for row, path in enumerate(paths):
            path.append(names[int(group[row])])
    return Hierarchy.from_paths([[*path, "*"] for path in paths])
