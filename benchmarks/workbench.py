"""`covey ui` on 1,000,000 rows of 12 columns, in a browser: seconds of every page after the import, and memory.

The aim is 2 s for a page. The table is synthetic and seeded. The import and the trials are jobs in processes of their
own; their time is told, and not part of a page's.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
from playwright.sync_api import Page, expect
from tests.ui.test_one_owner import open_page
from tests.ui.workbench import browsing, serving

ROWS = 1_000_000
SEED = 2026
WAIT = 1_800_000.0
STUDY = "big/study.toml"


def write(path: Path, rows: int) -> None:
    """The table: a person's number, ten columns that others may know, an illness and a bill."""
    rng = np.random.default_rng(SEED)

    def words(name: str, size: int) -> pa.Array:
        return pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, size, rows), pa.int32()), pa.array([f"{name} {number}" for number in range(size)])
        ).cast(pa.string())

    days = np.datetime64("2020-01-01") + rng.integers(0, 1800, rows).astype("timedelta64[D]")
    columns = {
        "patient_id": pa.array([f"p{number}" for number in range(rows)]),
        "age": pa.array(np.clip(rng.normal(50, 20, rows), 0, 99).astype(np.int64)),
        "sex": words("sex", 3),
        "postcode": pa.array([f"{number:05d}" for number in rng.integers(0, 9000, rows)]),
        "occupation": words("job", 40),
        "admission": pa.array(np.datetime_as_string(days)),
        "stay": pa.array(rng.integers(0, 60, rows)),
        "ward": words("ward", 12),
        "nationality": words("nation", 100),
        "children": pa.array(rng.integers(0, 8, rows)),
        "diagnosis": words("illness", 30),
        "cost": pa.array(np.round(rng.gamma(2.0, 500.0, rows), 2)),
    }
    pyarrow.csv.write_csv(pa.table(columns), path)


def timed(page: Page, address: str, words: str) -> float:
    """Seconds until a page that has these words is loaded and shown."""
    began = time.perf_counter()
    page.goto(address)
    expect(page.get_by_text(words).first).to_be_visible(timeout=WAIT)
    return time.perf_counter() - began


def run(arguments: list[str]) -> None:
    """Prints a line for each page; an argument gives another number of rows."""
    rows = int(arguments[0]) if arguments else ROWS
    with tempfile.TemporaryDirectory() as name, browsing() as browser:
        folder = Path(name)
        write(folder / "big.csv", rows)
        with serving(folder) as server:
            page = open_page(browser, server.address)
            base = page.url.rstrip("/")
            began = time.perf_counter()
            page.goto(f"{base}/table?data=big.csv")
            expect(page.locator("h1")).to_contain_text("What are the columns", timeout=WAIT)
            print(f"import (job)            {time.perf_counter() - began:6.1f} s")
            expect(page.get_by_text("are the only ones")).to_be_visible(timeout=WAIT)
            page.get_by_role("button", name="Make the study").click()
            expect(page.get_by_role("heading", name="Try the study")).to_be_visible()
            pages = {
                "first page": ("/", "What is in"),
                "columns": (f"/table?data=big.csv&study={STUDY}", "How identifying"),
                "study": (f"/study?study={STUDY}", "Try this"),
                "hierarchies": (f"/hierarchies?study={STUDY}", "Which coarser words"),
                "a tree of dates": (f"/hierarchy?study={STUDY}&column=admission", "If every cell stood"),
                "a tree of groups": (f"/hierarchy?study={STUDY}&column=occupation", "Group or rename"),
                "with partners": (f"/partners?study={STUDY}", "Make it a joint study"),
                "jobs": ("/jobs", "Each runs in a process"),
            }
            for description, (path, words) in pages.items():
                print(f"{description:<22}  {timed(page, base + path, words):6.2f} s")
            memory = psutil.Process(server.process.pid).memory_info().rss
            print(f"memory of the server    {memory / 2**20:6.0f} MB")
