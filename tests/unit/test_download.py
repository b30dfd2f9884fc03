"""Downloads against a server of their own on this machine, and from mirrors."""

import errno
import shutil
import socket
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flode.datasets.download import DownloadError, fetch
from tests.unit.rawfiles import row_of

CONTENT = bytes(range(256)) * 2000  # several chunks of the downloader
ROW = row_of(CONTENT)


class Handler(BaseHTTPRequestHandler):
    """Answers as the server's list of behaviours tells, one a request; the last one stays."""

    def do_GET(self):
        server = self.server
        server.requested.append(self.path)
        behaviour = server.behaviours.pop(0) if len(server.behaviours) > 1 else server.behaviours[0]
        if isinstance(behaviour, int):
            self.send_error(behaviour)
            return
        if behaviour == "hang":
            server.released.wait(5)
            return
        body = b"<html>Please log in</html>" if behaviour == "page" else CONTENT
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:100_000] if behaviour == "cut" else body)

    def log_message(self, *args):
        pass


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.behaviours, server.requested, server.released = ["serve"], [], threading.Event()
    server.base = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def get(tmp_path):
    """``fetch`` with short waits, to a fixed destination, recording its lines."""
    lines = []

    def get(**changed):
        settings = {"manifest_row": ROW, "backoff": 0.001, "timeout": 5, "progress": lines.append}
        return fetch("source", "folder/file", tmp_path / "raw" / "file", **settings | changed)

    get.destination, get.lines = tmp_path / "raw" / "file", lines
    return get


def refused(get, **settings):
    """The message of the failure, which must leave nothing behind and tell what all must tell."""
    with pytest.raises(DownloadError) as caught:
        get(**settings)
    folder = get.destination.parent
    assert not folder.exists() or list(folder.iterdir()) == []
    message = str(caught.value)
    assert "source/folder/file could not be fetched from" in message
    assert str(get.destination) in message
    assert "data: {mirror: " in message
    assert "--config data='{mirror: /path}'" in message
    return message


def test_file_is_fetched(server, get):
    assert get(base=server.base) == get.destination
    assert get.destination.read_bytes() == CONTENT
    assert server.requested == ["/folder/file"]
    assert list(get.destination.parent.iterdir()) == [get.destination]
    assert get.lines[-1].endswith("512,000 bytes, verified")


def test_git_blob_id_is_enough(server, get):
    get(base=server.base, manifest_row=replace(ROW, bytes=None, sha256=None))
    assert get.destination.read_bytes() == CONTENT


def test_wrong_git_blob_id(server, get):
    row = replace(ROW, bytes=None, sha256=None, git_blob_sha1="0" * 40)
    message = refused(get, base=server.base, manifest_row=row, retries=0)
    assert f"expected git blob id {'0' * 40}; found 512,000 bytes" in message


def test_verified_file_is_not_fetched_again(server, get):
    get(base=server.base)
    get(base="http://127.0.0.1:9/", retries=0)
    assert server.requested == ["/folder/file"]


def test_file_with_other_bytes_is_fetched_again(server, get):
    get.destination.parent.mkdir()
    get.destination.write_bytes(CONTENT[:-1])
    get(base=server.base)
    assert get.destination.read_bytes() == CONTENT


def test_address_is_quoted(server, tmp_path):
    fetch("s", "a b/ü#1", tmp_path / "file", base=server.base, manifest_row=ROW)
    assert server.requested == ["/a%20b/%C3%BC%231"]


def test_server_that_fails_twice(server, get):
    server.behaviours = [503, "cut", "serve"]
    get(base=server.base)
    assert get.destination.read_bytes() == CONTENT
    assert len(server.requested) == 3
    assert any(line.startswith("attempt 2 of 4: ") for line in get.lines)


def test_waits_double(server, get, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    server.behaviours = [500]
    refused(get, base=server.base, backoff=1.0)
    assert waits == [1, 2, 4]
    assert len(server.requested) == 4


def test_server_that_closes_early(server, get):
    server.behaviours = ["cut"]
    message = refused(get, base=server.base, retries=1)
    assert f"{server.base}folder/file" in message
    assert "(2 attempts)" in message
    assert "cut off" in message or "lost" in message


def test_server_that_sends_wrong_bytes(server, get):
    server.behaviours = ["page"]
    message = refused(get, base=server.base, retries=1)
    assert f"expected 512,000 bytes, sha256 {ROW.sha256}; found 26 bytes, sha256 " in message
    assert "beginning with b'<html>Please log in</html>'" in message


@pytest.mark.parametrize("status", [404, 403])
def test_client_errors_are_not_tried_again(server, get, status):
    server.behaviours = [status]
    assert f"the server answered {status}" in refused(get, base=server.base)
    assert len(server.requested) == 1


def test_too_many_requests_are_tried_again(server, get):
    server.behaviours = [429, "serve"]
    get(base=server.base)
    assert len(server.requested) == 2


def test_server_that_is_down(get):
    with socket.socket() as free:  # bound but not listening: refuses connections
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/"
        message = refused(get, base=base, retries=1)
    assert "(2 attempts): no answer, or the connection was lost" in message


def test_server_that_hangs(server, get):
    server.behaviours = ["hang"]
    assert "no answer" in refused(get, base=server.base, retries=0, timeout=0.2)


def test_address_that_is_none(get):
    assert "the request failed" in refused(get, base="http://[/")


def test_full_disk(server, get, monkeypatch):
    import pooch

    def full(self, url, output_file, pooch):
        with open(output_file, "wb") as file:
            file.write(CONTENT[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", full)
    message = refused(get, base=server.base)
    assert "(one attempt): No space left on device" in message


# --- mirrors


def put(mirror, content=CONTENT):
    path = mirror / "source" / "folder" / "file"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_mirror_folder(get, tmp_path):
    put(tmp_path / "mirror")
    get(base="http://127.0.0.1:9/", mirror=tmp_path / "mirror")
    assert get.destination.read_bytes() == CONTENT
    (tmp_path / "mirror/source/folder/file").write_bytes(b"changed")
    assert get.destination.read_bytes() == CONTENT  # a copy, no link


def test_mirror_address(server, get):
    get(base="http://127.0.0.1:9/", mirror=f"{server.base}copy")
    assert server.requested == ["/copy/source/folder/file"]


def test_mirror_lacks_the_file(get, tmp_path):
    (tmp_path / "mirror").mkdir()
    message = refused(get, base="http://127.0.0.1:9/", mirror=tmp_path / "mirror")
    assert f"No such file or directory ({tmp_path}/mirror/source/folder/file)" in message
    assert f"now it is {tmp_path}/mirror." in message


def test_mirror_with_wrong_bytes_is_read_once(get, tmp_path):
    put(tmp_path / "mirror", CONTENT[:-1])
    message = refused(get, base="http://127.0.0.1:9/", mirror=tmp_path / "mirror")
    assert "(one attempt): expected 512,000 bytes" in message
    assert "found 511,999 bytes" in message


def test_mirror_that_cannot_be_read(get, tmp_path):
    (tmp_path / "mirror").write_text("a file, not a folder")
    assert "Not a directory" in refused(get, base="http://a/", mirror=tmp_path / "mirror")
    shutil.os.remove(tmp_path / "mirror")
    (tmp_path / "mirror" / "source" / "folder" / "file").mkdir(parents=True)
    assert "Is a directory" in refused(get, base="http://a/", mirror=tmp_path / "mirror")


def test_disk_that_fills_while_copying(get, tmp_path, monkeypatch):
    put(tmp_path / "mirror")

    def full(source, target):
        target.write_bytes(CONTENT[:10])
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(shutil, "copyfile", full)
    message = refused(get, base="http://a/", mirror=tmp_path / "mirror")
    assert "No space left on device" in message


def test_an_older_wrong_file_does_not_survive_a_failure(get, tmp_path):
    get.destination.parent.mkdir()
    get.destination.write_bytes(b"old")
    refused(get, base="http://a/", mirror=tmp_path)


def test_destination_that_is_a_folder(get, tmp_path):
    put(tmp_path / "mirror")
    get.destination.mkdir(parents=True)
    with pytest.raises(DownloadError, match="Is a directory"):
        get(base="http://a/", mirror=tmp_path / "mirror")
