"""Makes packages for Debian, and for Red Hat and SUSE, from a bundle's tree. nFPM writes both formats. These
packages also run on hosts on which users can't execute files in their own folders, which the one-file kac has to
do.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bundle import papers
from bundle.inputs import GLIBC, GO_NAMES, ROOT, commit_time, run
from console.cli.manual.completion_scripts import script

_PACKER = ROOT / "bundle" / "packer"
_PLACE = "/usr/lib/kac"
_COMMAND = f"""#!/bin/sh
exec {_PLACE}/bin/python3.14 -I -B -c 'import sys; from console.__main__ import main; sys.exit(main())' "$@"
"""
UNIT = "kac-watch@.service"
"""The systemd unit that runs `kac` to watch a context. Installing a package does not start it."""
_COMPLETIONS = {
    "bash": "bash-completion/completions/kac",
    "zsh": "zsh/{}/_kac",
    "fish": "fish/vendor_completions.d/kac.fish",
}
_ZSH = {"deb": "vendor-completions", "rpm": "site-functions"}
_RELEASE = "1"
"""The number of the package's build for the same version, which RPM requires."""


def packages(tree: Path, arch: str, version: str, out: Path, *, with_lake: bool) -> Iterator[Path]:
    """Make a package of each kind, and yield its path. The same commit makes the same bytes.

    Raises:
        Missing: Go is not installed.
        RuntimeError: nFPM refuses, with the reason.
    """
    release = f"{version}{'+lake' if with_lake else ''}"
    names = {
        "deb": f"kac_{release}_{GO_NAMES[arch]}.deb",
        "rpm": f"kac-{release}-{_RELEASE}.{arch}.rpm",
    }
    needs = {
        "deb": [f"libc6 (>= {GLIBC[0]}.{GLIBC[1]})", *(("libgcc-s1", "libstdc++6") if with_lake else ())],
        "rpm": [f"glibc >= {GLIBC[0]}.{GLIBC[1]}", *(("libgcc", "libstdc++") if with_lake else ())],
    }
    uses = {"deb": ["libgssapi-krb5-2", "openssh-client"], "rpm": ["krb5-libs", "openssh-clients"]}
    with TemporaryDirectory() as folder:
        for kind, name in names.items():
            about = {
                "name": "kac",
                "arch": GO_NAMES[arch],
                "version": version,
                "version_schema": "none",
                "version_metadata": "lake" if with_lake else "",
                "release": _RELEASE if kind == "rpm" else "",
                "section": "admin",
                "priority": "optional",
                "maintainer": "kac <kac@localhost>",
                "license": "Apache-2.0",
                "description": "interactive terminal console for people who run Apache Kafka\n"
                "It brings its own Python and asks nothing of the host but glibc.",
                "mtime": commit_time().isoformat(),
                "depends": needs[kind],
                "recommends": ["ca-certificates"],
                "suggests": uses[kind],
                "contents": list(_contents(tree, kind, Path(folder))),
                "deb": {"compression": "xz"},
                "rpm": {"compression": "zstd", "buildhost": "localhost"},
            }
            config = Path(folder) / "nfpm.json"
            config.write_text(json.dumps(about))
            made = out / name
            words = ["--packager", kind, "--config", str(config), "--target", str(made.resolve())]
            run(["go", "tool", "nfpm", "package", *words], _PACKER)
            yield made


def _contents(tree: Path, kind: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the files of a package as entries of nFPM's configuration. kind: ``deb`` or ``rpm``. folder: a folder
    into which this function writes the files that the tree lacks.
    """
    # RPM removes only the folders that the package lists, so list all of them.
    folders = [_PLACE, *(f"{_PLACE}/{path.relative_to(tree)}" for path in sorted(tree.rglob("*")) if path.is_dir())]
    for place in (*folders, "/usr/share/doc/kac"):
        yield {"dst": place, "type": "dir", "file_info": {"mode": 0o755}}
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            yield _file(path, f"{_PLACE}/{path.relative_to(tree)}", executable=bool(path.stat().st_mode & 0o100))
    share = {
        "doc/kac/copyright": (tree / papers.LICENSES).read_bytes(),
        "doc/kac/sbom.cdx.json": (tree / papers.SBOM).read_bytes(),
        "man/man1/kac.1.gz": gzip.compress((ROOT / "docs" / "kac.1").read_bytes(), mtime=0),
        **{place.format(_ZSH[kind]): script(shell).encode() for shell, place in _COMPLETIONS.items()},
    }
    made = {"/usr/bin/kac": _COMMAND.encode(), **{f"/usr/share/{place}": content for place, content in share.items()}}
    for number, (place, content) in enumerate(made.items()):
        source = folder / f"{kind}-{number}"
        source.write_bytes(content)
        yield _file(source, place, executable=place == "/usr/bin/kac")
    yield _file(ROOT / "bundle" / UNIT, f"/usr/lib/systemd/system/{UNIT}", executable=False)


def _file(source: Path, place: str, *, executable: bool) -> dict[str, Any]:
    """Return the entry of a file in nFPM's configuration. Its mode is fixed, so that it does not depend on the umask
    with which the tree was made.
    """
    return {"src": str(source), "dst": place, "file_info": {"mode": 0o755 if executable else 0o644}}
