"""Order of the tests, and the threads of each process that runs them."""

import os
from pathlib import Path

# Before NumPy and PyTorch are there: two processes share two cores, and more threads would wait for
# each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

#: Folders whose files take longest: begun first, so that two processes end together.
LONG = ("workflow", "rules")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not set(LONG) & set(Path(item.location[0]).parts))
