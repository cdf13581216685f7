"""The examples of the docstrings, of docs/python.md, docs/pack.md, docs/images.md and docs/changes.md, each in a directory of its own."""

import doctest
import pathlib

import megadir.futures
import megadir.pack
import megadir.records
import megadir.torch
import pytest

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
PAGES = [pathlib.Path(__file__).parents[3] / "docs" / name for name in ("python.md", "pack.md", "images.md", "changes.md")]


def examples():
    """Each documented object, and each block of the page."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [megadir, megadir.futures, megadir.pack, megadir.records, megadir.torch]
    found = [test for module in modules for test in finder.find(module, module.__name__) if test.examples]
    parser = doctest.DocTestParser()
    for page in PAGES:
        blocks = page.read_text().split("```python\n")[1:]
        for number, block in enumerate(blocks, 1):
            text = block.split("```")[0]
            found.append(parser.get_doctest(text, {}, f"{page.name}, block {number}", str(page), 0))
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_example(example, tmp_path, monkeypatch):
    needed = {"import megadir.ray": "ray", "import fsspec": "fsspec", "import megadir.huggingface": "datasets", "import daft": "daft", "duckdb": "duckdb"}
    for statement, library in needed.items():
        if statement in example.docstring:
            pytest.importorskip(library)
    (tmp_path / "photos" / "old").mkdir(parents=True)
    (tmp_path / "photos" / "a.jpg").write_bytes(b"aaaa")
    (tmp_path / "photos" / "b.jpg").write_bytes(b"bbbbbbbb")
    (tmp_path / "photos" / "old" / "c.jpg").write_bytes(b"c")
    monkeypatch.chdir(tmp_path)
    if example.name.startswith("pack.md"):
        # That page begins with the command that makes it.
        megadir.pack.create("photos", "packed")
    example.globs.update(megadir=megadir)
    import pyarrow

    example.globs["pyarrow"] = pyarrow
    output = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=output.append)
    assert result.attempted > 0 and result.failed == 0, "".join(output)
