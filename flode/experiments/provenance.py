"""Where a number comes from: versions, commit, machine."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of Python, of this library and of the packages that results depend on."""
    from flode import __version__

    found = {"python": platform.python_version(), "flode": __version__}
    return found | {name: version(name) for name in _PACKAGES}


def commit() -> str:
    """Commit of the working copy this library lies in, with ``+changes`` where tracked files
    differ from it; ``unknown`` outside a working copy."""
    here = Path(__file__).resolve().parents[2]

    def git(*arguments):
        done = subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=30
        )
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        head = git("rev-parse", "HEAD")
        if not head:
            return "unknown"
        return head + ("+changes" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
