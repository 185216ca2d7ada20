"""A Debian package made from a bundle's tree, for hosts where no folder of a user executes."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from bundle import papers
from bundle.inputs import GLIBC, ROOT, run
from console.cli.manual.completion_scripts import script

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PLACE = "/usr/lib/kac"
_COMMAND = f"""#!/bin/sh
exec {_PLACE}/bin/python3.14 -I -B -c 'import sys; from console.__main__ import main; sys.exit(main())' "$@"
"""
UNIT = "kac-watch@.service"
"""The unit of systemd that watches a context. The package does not start it."""
_COMPLETIONS = {
    "bash": "bash-completion/completions/kac",
    "zsh": "zsh/vendor-completions/_kac",
    "fish": "fish/vendor_completions.d/kac.fish",
}


def package(tree: Path, arch: str, version: str, out: Path, *, with_lake: bool) -> Path | None:
    """Make the package; None where there is no dpkg-deb. The same tree makes the same bytes."""
    if shutil.which("dpkg-deb") is None:
        return None
    with TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        shutil.copytree(tree, root / _PLACE.removeprefix("/"))
        command = root / "usr" / "bin" / "kac"
        command.parent.mkdir()
        command.write_text(_COMMAND)
        command.chmod(0o755)
        share = {
            "doc/kac/copyright": (tree / papers.LICENSES).read_bytes(),
            "doc/kac/sbom.cdx.json": (tree / papers.SBOM).read_bytes(),
            "man/man1/kac.1.gz": gzip.compress((ROOT / "docs" / "kac.1").read_bytes(), mtime=0),
            **{place: script(shell).encode() for shell, place in _COMPLETIONS.items()},
        }
        for place, content in share.items():
            file = root / "usr" / "share" / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        unit = root / "usr" / "lib" / "systemd" / "system" / UNIT
        unit.parent.mkdir(parents=True)
        shutil.copyfile(ROOT / "bundle" / UNIT, unit)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
        control = root / "DEBIAN" / "control"
        control.parent.mkdir()
        control.write_text(
            f"Package: kac\nVersion: {version}\nArchitecture: {_ARCHITECTURES[arch]}\n"
            f"Depends: libc6 (>= {GLIBC[0]}.{GLIBC[1]}){', libgcc-s1, libstdc++6' if with_lake else ''}\n"
            "Recommends: ca-certificates\nSuggests: libgssapi-krb5-2, openssh-client\n"
            f"Installed-Size: {size}\nSection: admin\nPriority: optional\n"
            "Maintainer: kac <kac@localhost>\n"
            "Description: interactive terminal console for people who run Apache Kafka\n"
            " It brings its own Python and asks nothing of the host but glibc.\n"
        )
        # Whatever umask it is made with: packages keep modes, that of / too.
        for path in (root, *root.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        made = out / f"kac_{version}{'+lake' if with_lake else ''}_{_ARCHITECTURES[arch]}.deb"
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z3", "--build", str(root), str(made)], SOURCE_DATE_EPOCH="0")
    return made
