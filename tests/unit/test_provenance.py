"""The commit that run files and statistics name."""

import shutil
import subprocess
from pathlib import Path

import pytest

from flode.experiments import provenance

ROOT = Path(provenance.__file__).parents[2]


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def copy(tmp_path):
    """A repository of this module and what ``git archive`` needs, with one commit."""
    file = tmp_path / "copy/flode/experiments/provenance.py"
    file.parent.mkdir(parents=True)
    shutil.copy(provenance.__file__, file)
    for name in (".git_archival.txt", ".gitattributes"):
        shutil.copy(ROOT / name, tmp_path / "copy" / name)
    git(tmp_path, "init", "-q", "copy")
    git(tmp_path / "copy", "add", "-A")
    git(tmp_path / "copy", "commit", "-qm", "first")
    return file


def test_a_working_copy(copy):
    head = git(copy.parent, "rev-parse", "HEAD")
    assert provenance.commit(copy) == head and len(head) == 40
    (copy.parent / "untracked.txt").write_text("")
    assert provenance.commit(copy) == head
    copy.write_text("# changed")
    assert provenance.commit(copy) == head + "+changes"


def test_an_archive_names_its_commit(copy, tmp_path):
    head = git(copy.parent, "rev-parse", "HEAD")
    root = copy.parents[2]
    git(root, "archive", "--format=zip", "-o", str(tmp_path / "archive.zip"), "HEAD")
    shutil.unpack_archive(tmp_path / "archive.zip", tmp_path / "archive")
    archived = tmp_path / "archive/flode/experiments/provenance.py"
    assert provenance.commit(archived) == head + "+archive"


def test_a_repository_around_it_is_not_its_own(copy, tmp_path):
    """As of an environment in the folder of another project."""
    root = copy.parents[2]
    installed = root / ".venv/flode/experiments/provenance.py"
    installed.parent.mkdir(parents=True)
    shutil.copy(copy, installed)
    assert provenance.commit(installed) == "unknown"
    # A file that is not filled in says nothing, as in a copy without its repository.
    shutil.copy(ROOT / ".git_archival.txt", installed.parents[2])
    assert provenance.commit(installed) == "unknown"


def test_without_git(copy, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit(copy) == "unknown"
