"""The meaning of a label, said again for tests: the values that it stands for."""

from __future__ import annotations

from covey.cells import SUPPRESSED, canonical, number
from covey.hierarchy import Hierarchy, Interval, Open, Prefix


def covers(tree: Hierarchy | Open, label: str, value: str) -> bool:
    """True if the label stands for that clean value."""
    if isinstance(tree, Hierarchy):
        node, leaf = tree.node(label), tree.node(canonical(value, tree.kind))
        if node is None or leaf is None or leaf >= tree.codes:
            return False
        return bool(tree.first[node] <= leaf <= tree.last[node])
    if isinstance(tree, Interval):
        found, ends = number(value), tree.ends(label)
        return label == SUPPRESSED or (found is not None and ends is not None and ends[0] <= found <= ends[1])
    return label in (SUPPRESSED, value) or (isinstance(tree, Prefix) and label in tree.path(value))
