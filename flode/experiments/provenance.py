"""Where a number comes from: versions, commit, machine."""

from __future__ import annotations

import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")

#: Here ``git archive`` writes the commit.
_ARCHIVE = ".git_archival.txt"


def versions() -> dict[str, str]:
    """Versions of Python, of this library and of the packages that results depend on."""
    from flode import __version__

    found = {"python": platform.python_version(), "flode": __version__}
    return found | {name: version(name) for name in _PACKAGES}


def commit(file: str | Path = __file__, own: str | Path | None = None) -> str:
    """Commit of the working copy that tracks this library's files.

    Args:
        file: one of them, ``flode/experiments/provenance.py``.
        own: another file that a result depends on.

    Returns:
        Its hash, with ``+changes`` where tracked files differ from it, and ``+untracked`` where it
        does not have the ``own`` file. Of an unpacked ``git archive`` (a release, or what a host
        offers as a ZIP) the commit that it was made of, with ``+archive``, as nothing tells whether
        files were changed since. Else ``unknown``.
    """
    file = Path(file).resolve()

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(file.parent), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)  # not of a repository around an environment
        found = git("rev-parse", "HEAD")
        found += "+changes" if git("status", "--porcelain", "-uno") else ""
    except (OSError, subprocess.SubprocessError):
        return _archived(file.parents[2] / _ARCHIVE)
    if own is not None:
        try:
            git("ls-files", "--error-unmatch", str(Path(own).resolve()))
        except (OSError, subprocess.SubprocessError):
            found += "+untracked"
    return found


def _archived(file: Path) -> str:
    try:
        found = re.search("[0-9a-f]{40}", file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        found = None
    return f"{found[0]}+archive" if found else "unknown"
