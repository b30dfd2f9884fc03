"""Order of the tests."""

from pathlib import Path

#: Folders whose files take longest: begun first, so that two processes end together.
LONG = ("workflow", "rules")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not set(LONG) & set(Path(item.location[0]).parts))
