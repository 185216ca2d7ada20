"""Makes a virtual environment from a lock, or does nothing if it is up to date.

``python -m requirements.make_venv FOLDER LOCK…`` installs the packages of the locks, checked by their hashes, and this
project as an editable install. ``LOCK:GROUP`` means only the packages that one group of pyproject.toml requires. The
module can be imported by any Python 3, so that it can print that a Python is too old.
"""

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST = (3, 11)
PROJECT = Path(__file__).resolve().parent.parent


def main():
    """Make or update the environment, if necessary. Return the exit code: 0, or 1 with a message if it fails."""
    folder, locks = Path(sys.argv[1]), sys.argv[2:]
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
    python, stamp = folder / "bin" / "python", folder / "made-from"
    pip = [str(python), "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    texts = {lock: text_of(lock) for lock in locks}
    packages, project = fingerprint(*texts.values()), fingerprint((PROJECT / "pyproject.toml").read_text())
    made = stamp.read_text().split() if stamp.exists() and python.exists() else []
    if folder.is_symlink() and made != [packages, project]:
        return fail(
            f"{folder} is a link to {folder.resolve()}, which is another checkout's environment and was not made for "
            "this one: it is not changed. Remove the link to have one here."
        )
    if made[:1] != [packages]:
        say(f"making a virtual environment in {folder}")
        venv.EnvBuilder(with_pip=True, clear=True, prompt=f"kac {folder.name}").create(folder)
        for lock, text in texts.items():
            name = Path(lock).name
            say(f"pip installs the packages of {name}: a minute or so")
            if install(pip, text):
                return fail(f"pip could not install {name}; it says why above. Is there a way to a package index?")
        # On all processors; pip uses one. Nobody imports the packages' own tests, a fifth of all.
        subprocess.call([str(python), "-P", "-m", "compileall", "-qq", "-j0", "-x", "/tests/", str(folder / "lib")])
    if made != [packages, project]:
        say(f"pip installs this checkout into {folder}")
        if subprocess.call([*pip, "--no-deps", "--no-build-isolation", "--no-index", "-e", str(PROJECT)]):
            return fail(f"pip could not install {PROJECT}; it says why above.")
        stamp.write_text(f"{packages} {project}")
    return 0


def text_of(lock):
    """Return a lock's text. lock: the path of the lock; ``path:group`` keeps only the entries that this group
    requires.
    """
    # Here, as a Python that is too old can't read it.
    sys.path.insert(0, str(PROJECT))
    from requirements.locked import of_group

    path, _, group = lock.partition(":")
    text = Path(path).read_text()
    return of_group(text, group) if group else text


def install(pip, text):
    """Install the packages of a lock's text. Return pip's exit code. pip: the command line of ``pip install``."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return subprocess.call([*pip, "--require-hashes", "-r", file.name])


def fingerprint(*texts):
    """Return the SHA-256 of these texts, of this Python's version and of the checkout's path, in hexadecimal. An
    environment that was made with the same fingerprint is up to date.
    """
    content = [sys.version.encode(), str(PROJECT).encode(), *(text.encode() for text in texts)]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def say(what):
    """Print a message about the present step to standard error."""
    print(what, file=sys.stderr, flush=True)


def fail(reason):
    """Print the reason of a failure to standard error. Return the exit code 1."""
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
