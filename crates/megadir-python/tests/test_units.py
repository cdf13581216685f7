"""Ages and sizes need a unit, and globs something that they can match, in every function that takes them."""

import datetime
import importlib.metadata

import megadir
import pytest

AGES = ["older_than", "newer_than"]
SIZES = ["larger_than", "smaller_than"]


def functions(tree):
    """Each function with conditions."""
    return [
        lambda **given: megadir.list(tree, **given),
        lambda **given: megadir.count(tree, **given),
        lambda **given: megadir.usage(tree, **given),
        lambda **given: megadir.scan(tree, tree.parent / "out.parquet", **given),
        lambda **given: megadir.remove(tree, **given),
    ]


def test_an_age_or_a_size_without_a_unit_is_refused_and_removes_nothing(tree):
    before = megadir.count(tree, recursive=True)
    for function in functions(tree):
        for key in AGES:
            for number, line in [(30, f'{key}="30d"'), (0, f'{key}="0d"'), (1.5, "timedelta"), (True, "True has no unit"), (-1, "timedelta")]:
                with pytest.raises(TypeError, match=line):
                    function(**{key: number})
            with pytest.raises(ValueError, match="30"):
                function(**{key: "30"})
            with pytest.raises(ValueError, match="at least 0"):
                function(**{key: datetime.timedelta(days=-1)})
        for key in SIZES:
            for number, line in [(10, f'{key}="10B"'), (1.5, "has no unit"), (False, "False has no unit"), (-1, "has no unit")]:
                with pytest.raises(TypeError, match=line):
                    function(**{key: number})
            with pytest.raises(ValueError, match=f'write {key}="10B"'):
                function(**{key: "10"})
    assert megadir.count(tree, recursive=True) == before
    assert not (tree.parent / "out.parquet").exists()


def test_a_glob_that_no_entry_can_match_is_refused_and_removes_nothing(tree):
    before = megadir.count(tree, recursive=True)
    for function in functions(tree):
        for key in ["match", "path_match", "exclude"]:
            for glob in ["", ".", "{,}", ["*.dat", ""]]:
                with pytest.raises(ValueError, match=f"^{key} '"):
                    function(**{key: glob})
    assert megadir.count(tree, recursive=True) == before


def test_advice_needs_units_too(tree):
    for given, line in [({"time": 60}, 'time="60s"'), ({"time": True}, "no unit"), ({"size": 4096}, 'size="4096B"')]:
        with pytest.raises(TypeError, match=line):
            megadir.advise(tree, files=1000, **given)
    with pytest.raises(ValueError, match='size="4096B"'):
        megadir.advise(tree, files=1000, size="4096")
    advice = megadir.advise(tree, files=1000, name_length=32, size="4KiB", time=datetime.timedelta(0))
    assert advice["measured"] is None


def test_ages_are_text_or_a_timedelta(tree):
    everything = megadir.count(tree, recursive=True)
    for age in ["1d", datetime.timedelta(days=1)]:
        assert megadir.count(tree, recursive=True, newer_than=age) == everything
        assert megadir.count(tree, recursive=True, older_than=age) == 0


def test_the_version_is_that_of_the_metadata():
    assert megadir.__version__ == importlib.metadata.version("megadir")


def test_dates_are_moments(tree):
    now = datetime.datetime.now().astimezone()
    for later in [now + datetime.timedelta(days=1), (now + datetime.timedelta(days=1)).isoformat(), "2999-01-01"]:
        assert megadir.count(tree, recursive=True, newer_than=later) == 0
        assert megadir.count(tree, recursive=True, older_than=later) == megadir.count(tree, recursive=True)
    assert megadir.count(tree, recursive=True, older_than="1999-12-31") == 0
    # Without a time zone both mean local time.
    assert megadir.count(tree, recursive=True, older_than=datetime.datetime(1999, 12, 31)) == 0
    with pytest.raises(ValueError, match="older_than"):
        megadir.count(tree, recursive=True, older_than="1999-13-31")
