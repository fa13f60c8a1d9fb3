"""Runs a notebook's cells in order and writes what they say beneath them; no Jupyter needed.

    python scripts/notebook.py docs/tour.ipynb

The cells share one session. What a cell prints and the value of its last line are kept: as text, as HTML where the
value offers it, and as a picture where it is a chart.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path

Json = dict[str, object]


def execute(content: Json) -> Json:
    """The notebook with fresh outputs. Raises whatever a cell raises."""
    session: dict[str, object] = {"__name__": "__main__"}
    number = 0
    for cell in content["cells"]:  # type: ignore[attr-defined]
        if cell["cell_type"] == "code":
            number += 1
            cell["execution_count"] = number
            cell["outputs"] = _run("".join(cell["source"]), session, number)
    return content


def _run(source: str, session: dict[str, object], number: int) -> list[Json]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    output = io.StringIO()
    value = None
    with contextlib.redirect_stdout(output):
        exec(compile(tree, f"cell {number}", "exec"), session)  # noqa: S102
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), session)  # noqa: S307
    outputs: list[Json] = []
    if output.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": output.getvalue().splitlines(keepends=True)})
    if value is not None:
        outputs.append(
            {"data": _shown(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def _shown(value: object) -> Json:
    """The value as a notebook shows it."""
    if hasattr(value, "to_dict") and type(value).__module__.startswith("altair"):
        import vl_convert

        picture = vl_convert.vegalite_to_png(json.dumps(value.to_dict()), scale=1.5)
        return {"image/png": base64.b64encode(picture).decode(), "text/plain": ["a chart"]}
    content: Json = {"text/plain": repr(value).splitlines(keepends=True)}
    as_html = getattr(value, "_repr_html_", None)
    if callable(as_html) and (page := as_html()):
        content["text/html"] = str(page).splitlines(keepends=True)
    return content


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        content = execute(json.loads(path.read_text("utf-8")))
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
