import os

import pytest

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
