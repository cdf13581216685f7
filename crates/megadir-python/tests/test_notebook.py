"""The cells of docs/inventory.ipynb run in order; DuckDB and Matplotlib are installed with ``--full``."""

import json
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).parents[3] / "docs" / "inventory.ipynb"


def test_the_notebook_runs(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    pytest.importorskip("matplotlib").use("agg")
    for path, size in [("a.jpg", 5), ("b.jpg", 7), ("old/c.jpg", 100)]:
        file = tmp_path / "photos" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102
    assert names["scanned"].rows == 5
    assert names["directories"] == [("old", 1, 100), ("", 2, 12)]
    assert "size of the files" in (tmp_path / "photos.svg").read_text()
