"""Raw files, fetched from their source or a mirror and verified before they are used."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from flode.datasets.manifest import ManifestRow, mismatch
from flode.files import atomic_write

#: HTTP statuses below 500 that may pass by themselves: time-out, too early, too many requests.
_TRANSIENT_STATUSES = (408, 425, 429)

_ADVICE = (
    "Raw files can be read from a copy that holds <source>/<path>: set"
    " `data: {{mirror: <folder or base address>}}` in the configuration, or run with"
    " --config data='{{mirror: /path}}'{now}."
)


class DownloadError(RuntimeError):
    """A raw file that could not be had; names file, address, what was expected and what came."""


class _AttemptError(Exception):
    """One failed attempt."""

    def __init__(self, what: str, transient: bool):
        super().__init__(what)
        self.transient = transient


def fetch(
    source: str,
    path: str,
    destination: str | Path,
    *,
    base: str,
    mirror: str | Path | None = None,
    manifest_row: ManifestRow,
    retries: int = 3,
    backoff: float = 1.0,
    timeout: float = 60.0,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Fetch one raw file, verify it, and only then give it its final name.

    A destination that holds the right bytes is left alone, one that holds others is removed first.
    Nothing unverified stands under the final name: bytes go to a temporary file beside it, which
    is removed on any error.

    Args:
        source, path: which file, as in the manifest.
        destination: where to.
        base: base address of the source, or a folder.
        mirror: folder or base address (http, https) with the layout ``<source>/<path>``, used
            instead of ``base``.
        manifest_row: what the bytes must be.
        retries: further attempts after a failure that may pass: no connection, a time-out, a
            transfer cut off, wrong bytes, HTTP 5xx or 429. A folder is tried once.
        backoff: seconds before the first retry; each further wait is twice as long.
        timeout: seconds without a byte after which an attempt fails.
        progress: called with a line of text at the start, at each retry and at the end.

    Returns:
        The destination.

    Raises:
        DownloadError: no attempt gave the right bytes, or they could not be written.
    """
    destination, tell = Path(destination), progress or (lambda line: None)
    if destination.is_file() and mismatch(destination, manifest_row) is None:
        tell(f"{destination}: already there and verified")
        return destination
    address, transfer = _locate(source, path, base, mirror)
    attempts = 1 if transfer is _copy else 1 + retries
    for attempt in range(1, attempts + 1):
        tell(f"{destination}: from {address}")
        try:
            _attempt(transfer, address, destination, manifest_row, timeout)
        except _AttemptError as failure:
            if failure.transient and attempt < attempts:
                wait = backoff * 2 ** (attempt - 1)
                tell(f"attempt {attempt} of {attempts}: {failure}; next in {wait:g} s")
                time.sleep(wait)
                continue
            tried = f"{attempt} attempts" if attempt > 1 else "one attempt"
            now = "" if mirror is None else f"; now it is {mirror}"
            raise DownloadError(
                f"{source}/{path} could not be fetched from {address} to {destination} ({tried}):"
                f" {failure}. {_ADVICE.format(now=now)}"
            ) from failure.__cause__
        break
    tell(f"{destination}: {destination.stat().st_size:,} bytes, verified")
    return destination


def _locate(source, path, base, mirror) -> tuple[str, Callable]:
    place, parts = (base, [path]) if mirror is None else (mirror, [source, path])
    if re.match("https?://", str(place)):
        return "/".join([str(place).rstrip("/"), *map(quote, parts)]), _download
    return str(Path(place).expanduser().joinpath(*parts)), _copy


def _attempt(transfer, address, destination, row, timeout) -> None:
    try:
        destination.unlink(missing_ok=True)
        with atomic_write(destination) as temporary:
            transfer(address, temporary, timeout)
            wrong = mismatch(temporary, row)
            if wrong:
                raise _AttemptError(wrong, transient=True)
    except OSError as error:  # a full disk, a mirror that is missing or cannot be read
        raise _AttemptError(
            f"{error.strerror or error} ({error.filename or destination})", False
        ) from error


def _copy(address: str, temporary: Path, timeout: float) -> None:
    shutil.copyfile(address, temporary)


def _download(address: str, temporary: Path, timeout: float) -> None:
    # Here, because importing requests costs a fifth of a second, which a mirror folder spares.
    import pooch
    import requests

    downloader = pooch.HTTPDownloader(timeout=timeout, chunk_size=1 << 16)
    try:
        downloader(address, str(temporary), None)
    except requests.HTTPError as error:
        status = error.response.status_code
        transient = status >= 500 or status in _TRANSIENT_STATUSES
        raise _AttemptError(
            f"the server answered {status} {error.response.reason}", transient
        ) from error
    except (requests.Timeout, requests.ConnectionError) as error:
        raise _AttemptError(f"no answer, or the connection was lost ({error})", True) from error
    except (
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ContentDecodingError,
    ) as error:
        raise _AttemptError(f"the transfer was cut off ({error})", True) from error
    except requests.RequestException as error:
        raise _AttemptError(f"the request failed ({error})", False) from error
