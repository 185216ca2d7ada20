"""A Debian package made from a bundle's tree, for hosts where no folder of a user executes."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from bundle import papers
from bundle.inputs import GLIBC, run

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PLACE = "/usr/lib/kac"
_COMMAND = f"""#!/bin/sh
exec {_PLACE}/bin/python3.14 -I -B -c 'import sys; from console.__main__ import main; sys.exit(main())' "$@"
"""


def package(tree: Path, arch: str, version: str, out: Path, *, with_lake: bool) -> Path | None:
    """Make the package; None where there is no dpkg-deb. The same tree makes the same bytes."""
    if shutil.which("dpkg-deb") is None:
        return None
    with TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        shutil.copytree(tree, root / _PLACE.removeprefix("/"))
        for path in root.rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        command = root / "usr" / "bin" / "kac"
        command.parent.mkdir()
        command.write_text(_COMMAND)
        command.chmod(0o755)
        doc = root / "usr" / "share" / "doc" / "kac"
        doc.mkdir(parents=True)
        shutil.copyfile(tree / papers.LICENSES, doc / "copyright")
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
        control = root / "DEBIAN" / "control"
        control.parent.mkdir()
        control.write_text(
            f"Package: kac\nVersion: {version}\nArchitecture: {_ARCHITECTURES[arch]}\n"
            f"Depends: libc6 (>= {GLIBC[0]}.{GLIBC[1]})\nInstalled-Size: {size}\nSection: admin\nPriority: optional\n"
            "Maintainer: kac <kac@localhost>\n"
            "Description: interactive terminal console for people who run Apache Kafka\n"
            " It brings its own Python and asks nothing of the host but glibc.\n"
        )
        made = out / f"kac_{version}{'+lake' if with_lake else ''}_{_ARCHITECTURES[arch]}.deb"
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z3", "--build", str(root), str(made)], SOURCE_DATE_EPOCH="0")
    return made
