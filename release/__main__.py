"""``python -m release``: makes all files of a release in dist/, from a clean checkout whose pages and pictures are
fresh.

It uploads nothing: it prints the files to upload, each with its SHA-256.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from bundle import inputs
from bundle.parts import of_package
from requirements.locked import of_group

GENERATED = {
    "docs/commands.md": ("console.cli.manual.pages", "commands"),
    "docs/kac.1": ("console.cli.manual.pages", "man"),
    "docs/lake-tables.md": ("console.cli.manual.pages", "tables"),
    "docs/lint.md": ("console.cli.manual.pages", "lint"),
    "docs/causes.md": ("console.cli.manual.pages", "causes"),
    "docs/keys.md": ("console.tui.key_help",),
}
"""Generated page -> the module and the arguments that print it."""
TOOLS = inputs.ROOT / ".venv-release" / "bin" / "python"
SUMS = "SHA256SUMS"


def changes(root: Path) -> str:
    """Return a message that lists the uncommitted changes of a checkout; ``""`` if there are none. Raises RuntimeError
    if git fails.
    """
    changed = inputs.run(["git", "status", "--porcelain"], root)
    return f"there are changes that are not committed:\n{changed}" if changed else ""


def stale_pages(root: Path) -> Iterator[str]:
    """Yield a message for each generated page that differs from the present output of its generator."""
    for page, module in GENERATED.items():
        if inputs.run([sys.executable, "-m", *module], root) != (root / page).read_text("utf-8"):
            yield f"{page} is stale: make docs"


def stale_pictures(root: Path) -> str:
    """Take all pictures again. Return a message if one differs from the stored picture; ``""`` if all are equal."""
    try:
        inputs.run([sys.executable, "-m", "screenshots.take", "--check"], root)
    except RuntimeError as error:
        return f"pictures are stale: make pictures\n{error}"
    return ""


def unnamed(root: Path, version: str) -> str:
    """Return an error if the changelog lacks a version; ``""`` if it has a section for it."""
    found = f"\n## [{version}]" in (root / "CHANGELOG.md").read_text("utf-8")
    return "" if found else f"CHANGELOG.md has no section of {version}"


def refusals(root: Path, version: str, *, pictures: bool, files: bool) -> Iterator[str]:
    """Yield the reasons why no release can be made of a checkout, the quick checks first.

    Args:
        pictures: whether to take the pictures again and compare them, which takes minutes.
        files: whether single files are made, which needs Go.
    """
    if files and shutil.which("go") is None:
        yield "go is not installed, and compiles the single files' launcher: docs/install.md; or --without-files"
        return
    if why := changes(root):
        yield why
        return
    if why := unnamed(root, version):
        yield why
    yield from stale_pages(root)
    if pictures and (why := stale_pictures(root)):
        yield why


def packages(out: Path, version: str) -> None:
    """Make the sdist and the wheel of the checkout in the folder `out`, with the commit's time as the timestamps of
    their files. Write next to each of the two the list of its requirements.

    Raises RuntimeError if a package index would refuse them or could not show their description.
    """
    time = inputs.run(["git", "log", "-1", "--format=%ct"], inputs.ROOT).strip()
    python = str(TOOLS)
    inputs.run(
        [python, "-P", "-m", "build", "--no-isolation", "--outdir", str(out), str(inputs.ROOT)],
        inputs.ROOT,
        SOURCE_DATE_EPOCH=time,
    )
    made = sorted(path for path in out.iterdir() if path.name.endswith((".whl", ".tar.gz")))
    inputs.run([python, "-P", "-m", "twine", "check", "--strict", *map(str, made)], inputs.ROOT)
    run_lock = (inputs.LOCKS / "run.txt").read_text()
    build_lock = of_group((inputs.LOCKS / "tools.txt").read_text(), "build")
    for path in made:
        built_here = "" if path.suffix == ".whl" else build_lock
        (out / f"{path.name}.cdx.json").write_text(of_package(path, version, run_lock, built_here))


def sums(out: Path) -> str:
    """Write the file SHA256SUMS with the SHA-256 of each other file in a folder. Return its text: a line for each
    file.
    """
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != SUMS)
    text = "".join(f"{inputs.digest(path)}  {path.name}\n" for path in files)
    (out / SUMS).write_text(text)
    return text


def head() -> str:
    """Return the hash of the checkout's commit."""
    return inputs.run(["git", "rev-parse", "HEAD"], inputs.ROOT).strip()


def main() -> int:
    """Make a release. Return the exit code: 0, or 1 if it is refused or fails."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument(
        "--without-files", action="store_true", help="no single files, deb and rpm packages (needs no Go)"
    )
    parser.add_argument("--pictures-are-fresh", action="store_true", help="do not take them again: a test just did")
    parser.add_argument("--out", type=Path, default=inputs.ROOT / "dist", help="folder of what is made; emptied first")
    options = parser.parse_args()
    files = not options.without_files
    version = tomllib.loads((inputs.ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        if why := list(refusals(inputs.ROOT, version, pictures=not options.pictures_are_fresh, files=files)):
            print("\n".join(f"release: {each}" for each in why), file=sys.stderr)
            return 1
        commit = head()
        shutil.rmtree(options.out, ignore_errors=True)
        options.out.mkdir(parents=True)
        packages(options.out, version)
        if files:
            for arch in inputs.GO_NAMES:
                inputs.run([sys.executable, "-m", "bundle", "--arch", arch, "--out", str(options.out)], inputs.ROOT)
        if head() != commit or changes(inputs.ROOT):
            raise RuntimeError(f"the checkout changed meanwhile: it is {commit} no more")
    except (inputs.Missing, RuntimeError, OSError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"kac {version} of {commit}, in {options.out}. To upload, with {SUMS}:\n\n{sums(options.out)}")
    print(f"The wheel and the sdist also to the Python package index. The tag: git tag -s v{version} {commit[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
