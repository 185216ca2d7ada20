"""The only place that starts other programs: the user's own (ssh, a pager, commands in configuration files), and
interpreters (Python, Java) that run kac's own code.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple, NoReturn

from console.safe_files import UntrustedPath, require_own

LONGEST = 1 << 20
"""Maximum size in bytes of a program's output. A longer output is refused: no secret is longer, and some programs never
stop writing.
"""
LONGEST_REASON = 200
LAST_BYTES = 16 << 10
"""Number of bytes at the end of standard error that are kept to report the reason of a failure."""
_PIPE_BYTES = 64 << 10
"""Maximum number of bytes that a pipe holds until they are read."""
_LOOKS = 0.1
"""Seconds between two checks whether a program that writes no output has ended."""
_INTERPRETER = re.compile(r"(?:ba|da|z|k|fi)?sh|python[\d.]*|perl|ruby|node")
_OF_KAC = frozenset({"PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "_PYSPARK_DRIVER_CONN_INFO_PATH"})
"""Environment variables that connect kac's own processes with each other. Other programs do not get them: a program
that has the secret could send commands to Spark's Java process.
"""
_NAMES_FOR_INTERPRETERS = """
HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR JAVA_HOME JAVA_TOOL_OPTIONS
PYTHONDONTWRITEBYTECODE http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY
"""
_FOR_INTERPRETERS = frozenset(_NAMES_FOR_INTERPRETERS.split())
_PREFIXES_FOR_INTERPRETERS = (
    *("LC_", "XDG_", "KAC_", "AWS_", "SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "KRB5"),
    *("KUBE", "AZURE_", "GOOGLE_"),
)
"""Beginnings of the names of further environment variables that interpreters get: the user's settings of paths,
languages, proxies, stores and clusters. Variables that choose the code that is loaded, such as PYTHONPATH,
PYTHONSTARTUP and CLASSPATH, are not passed on. The exception is JAVA_TOOL_OPTIONS, as companies set their
certificates and proxies in it.
"""


class ProgramFailed(Exception):
    """A program gave no usable output. The text is the reason, with the program's name, and no more of its standard
    error than the last line. hangs: whether kac ended it after its timeout.
    """

    def __init__(self, text: str, *, hangs: bool = False) -> None:
        super().__init__(text)
        self.hangs = hangs


class Program(NamedTuple):
    """A program that kac may start: it passed the checks of `of_user` or comes from `interpreter`."""

    words: tuple[str, ...]
    """The absolute path of the program, and its arguments."""
    environ: Mapping[str, str]
    folder: Path | None
    """The working directory of the program; None for kac's own."""


# -- programs that may be started ------------------------------------------------------------------------------------


def safe_path(environ: Mapping[str, str]) -> str:
    """Return PATH with only those folders into which no other user can write, as `require_own` checks, and without
    relative folders, which depend on the working directory. Return the system's default path if no folder is left.
    """
    # Some shells search their working directory if PATH is empty, so never return an empty path.
    return os.pathsep.join(each for each in _folders(environ) if not _danger(Path(each))) or os.defpath


def along_path(name: str, environ: Mapping[str, str]) -> Path:
    """Return the path of a program, found by its name in the folders of PATH.

    Raises:
        UntrustedPath: another user may change every program of this name.
        FileNotFoundError: no folder of PATH has such a program.
    """
    refused: UntrustedPath | None = None
    for each in _folders(environ):
        program = Path(each, name)
        if program.is_file() and os.access(program, os.X_OK):
            if (danger := _danger(program)) is None:
                return program
            refused = refused or danger
    raise refused or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def is_found(name: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether `of_user` accepts a program of this name."""
    try:
        of_user([name], environ)
    except OSError:
        return False
    return True


def of_user(words: Sequence[str], environ: Mapping[str, str] = os.environ, folder: Path | None = None) -> Program:
    """Return one of the user's own programs, to be run with the user's environment and the folders of PATH that are
    safe.

    Args:
        words: the program's name or path, and its arguments.
        environ: the user's environment variables.
        folder: the folder of the file that names the program, used as its working directory; None if no file names it:
            the program runs in kac's own working directory.

    Raises:
        UntrustedPath: another user may change the program, or the script that it runs; the text has the path and the
            remedy.
        OSError: the program does not exist.
    """
    name = words[0]
    if "/" in name:
        program = Path(folder or Path.cwd(), name)
        program.stat()
        require_own(program)
    else:
        program = along_path(name, environ)
    if (script := _script(words, folder or Path.cwd())) is not None:
        require_own(script)
    kept = {key: value for key, value in environ.items() if key not in _OF_KAC}
    return Program((str(program), *words[1:]), {**kept, "PATH": safe_path(environ)}, folder)


def interpreter(
    words: Sequence[str | Path],
    folder: Path,
    variables: Mapping[str, str | None] = MappingProxyType({}),
) -> Program:
    """Return a program that runs kac's own code, with only the environment variables that it needs.

    Args:
        words: the absolute path of the interpreter, and its arguments.
        folder: the working directory, which only this user may write to: interpreters look there for code and settings.
        variables: environment variables to set in addition to those that are passed on; None as value removes a
            variable.
    """
    own = {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_KAC and (name in _FOR_INTERPRETERS or name.startswith(_PREFIXES_FOR_INTERPRETERS))
    }
    # With PYTHONSAFEPATH, Python programs that the program starts do not import modules from their working directory
    # either.
    safe = {"PATH": safe_path(os.environ), "PYTHONSAFEPATH": "1"}
    merged = {**own, **safe, **variables}
    return Program(tuple(map(str, words)), {name: each for name, each in merged.items() if each is not None}, folder)


def _script(words: Sequence[str], folder: Path) -> Path | None:
    """Return the path of the script that an interpreter runs: its first argument that is no option, if that is a file.
    None if there is no such file, or the program is no interpreter.
    """
    program, *arguments = words
    if not _INTERPRETER.fullmatch(Path(program).name):
        return None
    named = next((each for each in arguments if not each.startswith("-")), None)
    found = folder / named if named else None
    return found if found is not None and found.is_file() else None


def home_folder() -> Path:
    """Return the user's home folder, the working directory for a program that no file names; the root folder if HOME
    names no folder.
    """
    named = Path(os.environ.get("HOME") or "/")
    return named if named.is_dir() else Path("/")


def python(*arguments: str, folder: Path) -> Program:
    """Return a program that runs this Python with this process's module path, but without the working directory in
    it.
    """
    return interpreter([sys.executable, "-P", *arguments], folder, own_modules())


def own_modules() -> dict[str, str]:
    """Return the variable PYTHONPATH: the module path of this process, without folders that were relative or empty
    before Python made them absolute, since these depend on the working directory.
    """
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    relative = {str(Path(each).absolute()) for each in given if not Path(each).is_absolute()}
    found = [each for each in sys.path if Path(each).is_absolute() and str(Path(each)) not in relative]
    return {"PYTHONPATH": os.pathsep.join(found)}


def _folders(environ: Mapping[str, str]) -> list[str]:
    return [each for each in environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]


def _danger(path: Path) -> UntrustedPath | None:
    try:
        require_own(path)
    except UntrustedPath as error:
        return error
    except OSError as error:
        return UntrustedPath(path, error.strerror or "it can't be looked at")
    return None


# -- starting --------------------------------------------------------------------------------------------------------


def started(program: Program, **streams: Any) -> subprocess.Popen[Any]:
    """Start a program, and return its process. streams: as for `subprocess.Popen`. Raises OSError."""
    return subprocess.Popen(  # noqa: S603 - checked when the program was looked up
        program.words, env=program.environ, cwd=program.folder, **streams
    )


def finished(program: Program, seconds: float | None, **streams: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end, and return its exit code and output. Blocks.

    Args:
        seconds: the timeout, after which the program is killed; None to wait for ever.
        streams: as for `subprocess.run`.

    Raises:
        OSError: the program can't be started.
        subprocess.TimeoutExpired: it was killed after the timeout.
    """
    return subprocess.run(  # noqa: S603 - checked when the program was looked up
        program.words, env=program.environ, cwd=program.folder, check=False, timeout=seconds, **streams
    )


OF_KEYS = (signal.SIGINT, signal.SIGQUIT)
"""The signals of Ctrl-C and Ctrl-\\, which a terminal sends both to kac and to a program in its foreground."""


def with_terminal(program: Program, **streams: Any) -> int:
    r"""Run a program that uses the terminal, and return its exit code. Blocks. Ctrl-C and Ctrl-\ reach the program; kac
    ignores them until it ends. streams: as for `subprocess.run`. Raises OSError if the program can't be started.
    """
    return finished(program, None, preexec_fn=_heed_keys, **streams).returncode


def _heed_keys() -> None:
    for each in OF_KEYS:
        signal.signal(each, signal.SIG_DFL)


@contextmanager
def ignoring(*numbers: signal.Signals) -> Iterator[None]:
    """Ignore signals while the ``with`` block runs; programs started in it ignore them too. No-op in a thread other
    than the main one, because only that may set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, signal.SIG_IGN) for each in numbers}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def become(program: Program) -> NoReturn:
    """Replace this process by a program. Raises OSError if the program can't be started."""
    os.execve(program.words[0], program.words, program.environ)  # noqa: S606 - checked when the program was looked up


# -- programs that are run for their output --------------------------------------------------------------------------


def name_of(command: str) -> str:
    """Return the name of a command's program, without its folder: the only part of a command that may be shown."""
    return Path(shlex.split(command)[0]).name


def output_of(command: str, limit: float, folder: Path, *, terminal: bool = False) -> bytes:
    """Run a command from a file, and return its standard output. Blocks.

    There is no shell; the command is split into words as a shell does. The caller has checked the file.

    Args:
        command: the program and its arguments.
        limit: the timeout in seconds.
        folder: the folder of the file with the command.
        terminal: whether the command may read from kac's standard input, for example to prompt for a password.

    Raises:
        ProgramFailed: the program can't be run, another user may change it, it fails, does not end in time, or writes
            more than LONGEST bytes.
        ValueError: the command is empty or has an open quote.
    """
    words = shlex.split(command)
    if not words:
        raise ValueError("it names no command")
    name = name_of(command)
    try:
        program = of_user(words, folder=folder)
        done = finished(program, limit, stdin=None if terminal else subprocess.DEVNULL, capture_output=True)
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"{name} does not end: nothing within {limit:g} s", hangs=True) from None
    except UntrustedPath as error:
        raise ProgramFailed(f"{name} is not run: {error.strerror}") from None
    except OSError as error:
        raise ProgramFailed(f"{name} can't be run: {error.strerror}") from None
    if done.returncode:
        raise _ended(name, done.returncode, done.stderr)
    if len(done.stdout) > LONGEST:
        raise ProgramFailed(f"{name} wrote more than {LONGEST >> 20} MiB")
    output: bytes = done.stdout
    return output


def fed(words: Sequence[str], data: bytes, limit: float, folder: Path) -> None:
    """Run a command from a file with `data` on its standard input, and discard its output. Blocks.

    Args:
        words: the program and its arguments.
        data: the bytes to pass.
        limit: the timeout in seconds. After it, kac kills the program and the processes of its group.
        folder: the folder of the file with the command.

    Raises:
        ProgramFailed: the program can't be run, another user may change it, it fails, or does not end in time.
    """
    from tempfile import TemporaryFile  # imported late, as no start of kac needs it

    name = Path(words[0]).name
    said = bytearray()
    try:
        program = of_user(words, folder=folder)
        # Use a file instead of a pipe, as a write into a pipe would block if the program does not read it.
        with TemporaryFile() as given:
            given.write(data)
            given.seek(0)
            pipes = {"stdin": given, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
            process = started(program, **pipes, start_new_session=True)
    except UntrustedPath as error:
        raise ProgramFailed(f"{name} is not run: {error.strerror}") from None
    except OSError as error:
        raise ProgramFailed(f"{name} can't be run: {error.strerror}") from None
    has_ended = threading.Event()
    reader = threading.Thread(target=_keep_last, args=(process.stderr, said, has_ended), daemon=True)
    reader.start()
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise ProgramFailed(f"{name} does not end: killed after {limit:g} s", hangs=True) from None
    finally:
        has_ended.set()
    if code:
        reader.join(1.0)
        raise _ended(name, code, bytes(said))


def _keep_last(pipe: IO[bytes], said: bytearray, has_ended: threading.Event) -> None:
    """Read a pipe to its end, and keep its last LAST_BYTES bytes in `said`. Once `has_ended` is set, read only the
    bytes that are in the pipe by then: a process that the program started may keep the pipe open and write for ever.
    """
    from selectors import EVENT_READ, DefaultSelector

    with pipe, DefaultSelector() as ready:
        ready.register(pipe, EVENT_READ)
        left = _PIPE_BYTES
        while left > 0:
            is_last = has_ended.is_set()
            if ready.select(0 if is_last else _LOOKS):
                chunk = os.read(pipe.fileno(), LAST_BYTES)
                if not chunk:
                    return
                said += chunk
                del said[:-LAST_BYTES]
            elif is_last:
                return
            left -= len(chunk) if is_last else 0


def _ended(name: str, code: int, said: bytes) -> ProgramFailed:
    """Return the error for a program that failed: its exit code, and the last line of its standard error."""
    lines = said.decode("utf-8", "replace").strip().splitlines()[-1:]
    why = "".join(character for character in "".join(lines) if character.isprintable())[:LONGEST_REASON]
    return ProgramFailed(f"{name} ended with {code}" + (f": {why}" if why else ""))
