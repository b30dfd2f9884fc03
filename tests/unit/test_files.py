import errno
import os
import resource
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from flode.files import atomic_write, write_text_atomic


def test_moves_into_place_and_makes_folders(tmp_path):
    final = tmp_path / "a" / "b" / "table.csv"
    with atomic_write(final) as temporary:
        assert temporary.parent == final.parent
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert not final.exists()
    assert final.read_text() == "new"
    assert os.listdir(final.parent) == ["table.csv"]


def test_an_error_keeps_the_old_file_and_leaves_nothing_behind(tmp_path):
    final = tmp_path / "table.csv"
    final.write_text("old")

    def fail_half_way():
        with atomic_write(final) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail_half_way()
    assert final.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


@contextmanager
def largest_file(size):
    """No file of this process may grow beyond a size: what a full disk is like to a writer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WRITERS = {
    "text": lambda path: path.write_text("x" * 2_000_000),
    "numpy": lambda path: np.save(path, np.zeros(500_000)),
    "torch": lambda path: torch.save(torch.zeros(500_000), path),
    "safetensors": lambda path: save_file({"a": torch.zeros(500_000)}, path),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_disk_that_fills_is_an_error_that_names_the_file(tmp_path, writer):
    final = tmp_path / "file.npy"
    final.write_text("old")
    with (
        largest_file(1_000_000),
        pytest.raises(OSError, match="File too large") as caught,
        atomic_write(final) as temporary,
    ):
        WRITERS[writer](temporary)
    assert caught.value.errno == errno.EFBIG
    assert str(caught.value) == f"[Errno {errno.EFBIG}] File too large: '{final}'"
    assert final.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.npy"]


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_file(tmp_path):
    (tmp_path / "runs").write_text("no folder")
    with pytest.raises(NotADirectoryError, match=r"Not a directory: .*runs/a"):
        write_text_atomic(tmp_path / "runs" / "a" / "b.json", "text")


def test_an_error_about_another_file_stays_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "copy"):
        (tmp_path / "original").read_bytes()
    assert caught.value.filename == str(tmp_path / "original")


def test_nothing_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "table.csv"):
        pass
    assert os.listdir(tmp_path) == []


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    final = tmp_path / "table.csv"
    with atomic_write(final) as first, atomic_write(final) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert final.read_text() == "first"


def test_text_is_utf8_with_unix_line_ends(tmp_path):
    write_text_atomic(tmp_path / "note.txt", "α ± 1\n")
    assert (tmp_path / "note.txt").read_bytes() == "α ± 1\n".encode()
