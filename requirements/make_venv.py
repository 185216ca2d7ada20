"""Makes a virtual environment from a lock, or does nothing where it is up to date.

``python make_venv.py FOLDER LOCK…``: the locks' packages, checked by their hashes, and this project, editable. Runs on
any Python 3 as far as saying that it is too old.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
PROJECT = Path(__file__).resolve().parent.parent


def main():
    """Make the environment; the exit code."""
    folder, locks = Path(sys.argv[1]), [Path(lock) for lock in sys.argv[2:]]
    found = "{}.{}".format(*sys.version_info[:2])
    if sys.version_info[:2] < OLDEST:
        return fail(
            f"{sys.executable} is Python {found}; kac needs 3.11 or newer. Install one (Debian: apt install python3.11 "
            "python3.11-venv) and say which: make PYTHON=python3.11 ..."
        )
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError as missing:
        return fail(
            f"Python {found} here lacks {missing.name}, which makes virtual environments. "
            f"Install it (Debian: apt install python{found}-venv) and try again."
        )
    stamp, wanted = folder / "made-from", fingerprint(locks)
    if stamp.exists() and stamp.read_text() == wanted and (folder / "bin" / "python").exists():
        return 0
    print(f"making {folder} from {', '.join(lock.name for lock in locks)}", flush=True)
    venv.EnvBuilder(with_pip=True, clear=True, prompt=f"kac {folder.name}").create(folder)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for lock in locks:
        subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--no-index", "-e", str(PROJECT)], check=True)
    stamp.write_text(wanted)
    return 0


def fingerprint(locks):
    """What the environment is made from, as one hash: the locks, the project's own declaration and this Python."""
    content = [sys.version.encode(), str(PROJECT).encode()]
    content += [path.read_bytes() for path in (*locks, PROJECT / "pyproject.toml")]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def fail(reason):
    """Say why on standard error; the exit code."""
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
