"""Writes and reads of files. A write is whole or not at all, never follows another user's link, and is private if the
file may have secrets; a read does not wait for a pipe. Also runs on Spark's executors: Python 3.10, standard
library.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

PRIVATE, SHARED = 0o600, 0o666
"""The modes of new files: for their owner only, or for all users that the umask permits."""
MAX_LINKS = 40
"""Maximum number of symbolic links that are followed for one path, as in Linux."""


class UntrustedPath(OSError):
    """A link, file or folder that kac would use belongs to another user, or another user may change it, such as a
    program.
    """

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EPERM, what, str(path))


def write_whole(path: Path, content: str | bytes, mode: int = SHARED) -> None:
    """Write a file, whole or not at all: write and sync a new file next to it, then rename it.

    An existing file of this user keeps its mode; a new one gets `mode` (less the umask). A symbolic link is followed if
    it belongs to this user or to root, and stays a link. Devices, pipes and the target of /dev/stdout are written
    directly.

    Raises:
        UntrustedPath: the path is a link or pipe of another user.
        OSError: the file can't be written; an existing regular file is unchanged.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    target = resolved(path)
    found = _status(target)
    if found is None or stat.S_ISREG(found.st_mode):
        own = found is not None and found.st_uid == os.geteuid()
        _replace(target, data, stat.S_IMODE(found.st_mode) if found is not None and own else _new_mode(mode))
        return
    if not _trusted(found):
        raise UntrustedPath(target, "it belongs to another user")
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY), "wb") as file:
        file.write(data)


def read_text(path: Path, most: int) -> str:
    """Return a file's text; the file may be a pipe.

    Args:
        most: the largest accepted size in bytes.

    Raises:
        ValueError: the file is larger, or not in UTF-8.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        return _text(file.read(most + 1), most)


def why_unread(error: OSError | ValueError) -> str:
    """Return the reason why a file was not read, in a few words without the file's content."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file.

    Args:
        most: the largest accepted size in bytes.

    Raises:
        ValueError: the file is larger.
        OSError: it can't be read, or is a pipe or device, which might not end.
    """
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise ValueError(f"it is larger than {most:,} bytes")
        return file.read(size)


def open_plain(path: str | Path, flags: int = os.O_RDONLY, *, buffering: int = -1) -> BinaryIO:
    """Open a regular file in binary mode.

    Args:
        flags: the flags of os.open; a file that they create gets its mode from the umask.
        buffering: the size of the buffer as for `open`; -1 for the default.

    Raises:
        OSError: it can't be opened, or is a pipe or device, which might not end. Nothing was written.
    """
    # Use O_NONBLOCK, as open() would otherwise block on a named pipe.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, SHARED)
    try:
        file = os.fdopen(descriptor, _MODES[flags & os.O_ACCMODE], buffering)
    except OSError:  # the path is a folder
        os.close(descriptor)
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return cast(BinaryIO, file)


_MODES = {os.O_RDONLY: "rb", os.O_RDWR: "r+b"}


def create_whole(path: Path, content: bytes, mode: int = SHARED) -> None:
    """Write a new file, whole or not at all, even if the process is killed meanwhile.

    Args:
        mode: the file's mode, less the umask.

    Raises:
        FileExistsError: the path is a file or a link; it is unchanged.
        OSError: the file can't be written, and was not created.
    """
    scratch = _written(path, content, _new_mode(mode))
    try:
        _link(scratch, path, content, mode)
    finally:
        scratch.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _link(scratch: Path, path: Path, content: bytes, mode: int) -> None:
    """Link the written file `scratch` to the name `path`; on a filesystem without hard links, write `content` there
    instead. Raises FileExistsError if the name is taken.
    """
    try:
        os.link(scratch, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # The filesystem has no hard links. If the process is killed here, an incomplete file stays.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                path.unlink(missing_ok=True)
                raise


def read_stdin(most: int) -> str:
    """Return the text of standard input. most: the largest accepted size in bytes. Raises ValueError as `read_text`
    does.
    """
    return _text(sys.stdin.buffer.read(most + 1), most) if hasattr(sys.stdin, "buffer") else sys.stdin.read(most)


def _text(data: bytes, most: int) -> str:
    if len(data) > most:
        raise ValueError(f"it is larger than {most >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is no text in UTF-8") from None


def resolved(path: Path) -> Path:
    """Return the path that remains after following symbolic links in the last part of a path. A link in /proc that
    represents an open file is not followed. Raises UntrustedPath for a link of another user, OSError for a circle of
    links.
    """
    target = path.absolute()
    for _ in range(MAX_LINKS):
        found = _status(target)
        if found is None or not stat.S_ISLNK(found.st_mode):
            return target
        if not _trusted(found):
            raise UntrustedPath(target, "it is a link of another user")
        if os.path.realpath(target.parent).startswith("/proc/"):
            return target
        target = target.parent / target.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def require_own(path: Path) -> None:
    """Raise if another user may change the target of a path, or replace it.

    The file, every link on the way and every folder above each must belong to this user or to root, and no other user
    may write to it. Accepted are also: a folder that all users may write to if it is sticky (/tmp), since no other user
    can replace a file of this user there; /dev/null; and a folder or file that only the private group of this user may
    write to, as many systems create for every user. A path that does not exist passes.

    Raises:
        UntrustedPath: the text names the first file or folder that fails, and the remedy.
        OSError: the path can't be examined.
    """
    waiting = [*reversed(path.absolute().parts)]
    at, links = Path(waiting.pop()), 0
    while True:
        try:
            found = at.lstat()
        except FileNotFoundError:
            return
        if not _trusted(found):
            raise UntrustedPath(at, f"{at} belongs to another user; make it yours, or use a copy of yours")
        is_link = stat.S_ISLNK(found.st_mode)
        if not is_link and _may_be_written(at, found):
            is_plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
            how = f"chmod go-w {shlex.quote(str(at))}" if is_plain else "it is no plain file: use one of yours"
            raise UntrustedPath(at, f"others may write {at}; {how}")
        if is_link:
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            target = at.readlink()
            waiting += reversed(target.parts)
            at = at.parent
        if not waiting:
            return
        # An absolute target starts at the root again; for `..`, the parent is a folder that was already checked.
        at = at.parent if (part := waiting.pop()) == ".." else at / part


def _may_be_written(path: Path, found: os.stat_result) -> bool:
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode) and mode & stat.S_ISVTX:
        return False
    if stat.S_ISCHR(found.st_mode) and found.st_rdev == Path(os.devnull).stat().st_rdev:
        return False  # /dev/null always stays empty
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private_group(path, found.st_gid)))


def _is_private_group(path: Path, number: int) -> bool:
    """Return whether a file's group has this user's name and no other member. False for the group root (0), and for a
    file with an access control list, whose group permissions apply to other users too.
    """
    import grp
    import pwd

    with suppress(AttributeError, OSError):  # not every system and filesystem has extended attributes
        if "system.posix_acl_access" in os.listxattr(path):
            return False
    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return number != 0 and group.gr_name == name and set(group.gr_mem) <= {name}


def open_private(path: Path, flags: int, *, in_own_folder: bool = True) -> int:
    """Open a file that only its owner may read, create it if it does not exist, and return its descriptor.

    Args:
        flags: the flags of os.open.
        in_own_folder: whether the file's folder is kac's own: it is created and also becomes private. A folder that an
            operator named is not changed.

    Raises:
        UntrustedPath: the file, kac's folder or a link to it belongs to another user, or it is no regular file.
        OSError: it can't be opened.
    """
    if in_own_folder:
        private_folder(path.parent)
    target = resolved(path)
    descriptor = os.open(target, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, PRIVATE)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise UntrustedPath(target, "it is no regular file of this user")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(descriptor, PRIVATE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def private_folder(path: Path) -> None:
    """Create a folder of kac's own that only its owner may enter, and the missing folders above it. An existing folder
    of this user is closed to other users. If the path is a link of this user or of root, its target must be a folder
    of this user, whose mode is not changed.

    Raises:
        UntrustedPath: the folder, or a link to it, belongs to another user.
        OSError: it can't be created.
    """
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = resolved(path)
    folder = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid():
            raise UntrustedPath(path, "the folder belongs to another user")
        if target == path.absolute() and stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(folder, 0o700)
    finally:
        os.close(folder)


def _replace(target: Path, data: bytes, mode: int) -> None:
    scratch = _written(target, data, mode)
    try:
        scratch.replace(target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _written(target: Path, data: bytes, mode: int) -> Path:
    """Write and sync `data` to a new file next to `target`, and return the new file's path."""
    import tempfile

    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    scratch = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    return scratch


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # some filesystems have no fsync of folders
        folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _new_mode(mode: int) -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mode & ~mask


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _trusted(found: os.stat_result) -> bool:
    return found.st_uid in (os.geteuid(), 0)
