"""Files that are whole or absent: written to a temporary name, synced, then put in place; read back checked."""

import errno
import hashlib
import io
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from rgsupport.errors import StoreError
from rgsupport.schemas import Table, check

_SEAL = "rgsupport.sha256"


@contextmanager
def storing(path: Path) -> Generator[None]:
    """Turn what the operating system refuses while writing into one line.

    Raises:
        StoreError: Names the path, the reason and the way out.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            msg = f"the disk is full: cannot write {path}; what was finished is kept, free some space and run it again"
        else:
            msg = f"cannot write {path}: {error.strerror or error}; mend that, or choose another folder with --out"
        raise StoreError(msg) from error


def write_text(text: str, path: Path) -> None:
    """Put a text file in place, replacing what was there."""
    _put(text.encode(), path, clobber=True)


def write_parquet(frame: pl.DataFrame, path: Path, *, clobber: bool) -> None:
    """Put a table in place.

    Args:
        frame: The table.
        path: Its file.
        clobber: Whether it replaces a file of that name; if not, a file that is there stays.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={_SEAL: _digest(frame)})
    _put(buffer.getvalue(), path, clobber=clobber)


def _put(data: bytes, path: Path, *, clobber: bool) -> None:
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".partial-", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(handle, 0o644)
                os.fsync(handle)
            if clobber:
                temporary.replace(path)
            else:
                _link(temporary, path)
            _sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # the first writer wins; both wrote the same samples
    except OSError:  # a file system without hard links
        if not path.exists():
            temporary.replace(path)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_parquet(path: Path, table: Table) -> pl.DataFrame:
    """Return a table from its file.

    Raises:
        StoreError: The file is missing, torn, foreign or edited.
    """
    try:
        frame = pl.read_parquet(path, memory_map=False)
        seal = pl.read_parquet_metadata(path).get(_SEAL)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        msg = f"cannot read {path}: {reason}; if it is torn, delete it and run the same command again"
        raise StoreError(msg) from error
    check(frame, table, source=str(path))
    if seal != _digest(frame):
        msg = f"{path} was edited, or is not ours: delete it and run the same command again"
        raise StoreError(msg)
    return frame


def _digest(frame: pl.DataFrame) -> str:
    """Return a hash of a table's content that no version of a library changes: of its values as Python writes them."""
    digest = hashlib.sha256(repr(frame.columns).encode())
    for row in frame.iter_rows():
        digest.update(repr(row).encode())
    return digest.hexdigest()
