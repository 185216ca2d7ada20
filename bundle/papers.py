"""Writes the licences of all parts of a bundle, and a CycloneDX list of the parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageMetadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bundle.inputs import INTERPRETER, LAUNCHER, digest, run
from bundle.locks import holds
from bundle.parts import PROJECT, licence_of, listed, part, whole
from bundle.tree import SITE

SBOM = "share/kac/sbom.cdx.json"
LICENSES = "share/kac/licenses.txt"
_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "COPYRIGHT")
STATIC = (
    # python-build-standalone links these libraries into the program.
    ("OpenSSL", "Apache-2.0", "openssl.org"),
    ("libffi", "MIT", "sourceware.org/libffi"),
    ("zlib", "Zlib", "zlib.net"),
    ("bzip2", "bzip2-1.0.6", "sourceware.org/bzip2"),
    ("XZ Utils (liblzma)", "0BSD", "tukaani.org/xz"),
    ("Zstandard", "BSD-3-Clause", "facebook.github.io/zstd"),
    ("SQLite", "blessing", "sqlite.org"),
    ("Expat", "MIT", "libexpat.github.io"),
    ("mpdecimal", "BSD-2-Clause", "www.bytereef.org/mpdecimal"),
    ("libedit", "BSD-3-Clause", "thrysoee.dk/editline"),
    ("ncurses", "X11-distribute-modifications-variant", "invisible-island.net/ncurses"),
    ("libuuid", "BSD-3-Clause", "github.com/util-linux/util-linux"),
)
MODULES = {
    "github.com/klauspost/compress": "BSD-3-Clause AND Apache-2.0 AND MIT",
    "golang.org/x/sys": "BSD-3-Clause",
}
"""Go module that is linked into the launcher -> its licence."""


def write(tree: Path, wheels: list[Path], arch: str, zig: Path | None, version: str) -> None:
    """Write the licences and the list of parts into a pruned tree. zig: the compiler's folder, which has libunwind's
    licence; None if the tree does not contain libunwind.
    """
    parts, texts = [], []
    needs: dict[str, list[str]] = {}
    for info in sorted((tree / SITE).glob("*.dist-info")):
        about = Distribution.at(info).metadata
        name, release, licence = canonicalize_name(about["Name"]), about["Version"], licence_of(about)
        texts.append(_section(f"{about['Name']} {release}", licence, _texts(info)))
        needs[name] = list(_needs(about, arch))
        if name == PROJECT:
            continue
        stem = f"{info.name.removesuffix('.dist-info').lower()}-"
        (wheel,) = [each for each in wheels if each.name.lower().startswith(stem)]
        parts.append(part(name, release, licence, f"pkg:pypi/{name}@{release}", digest(wheel)))
    module = next(line.split()[-1] for line in (LAUNCHER / "go.mod").read_text().splitlines() if INTERPRETER in line)
    python_release = module.split("-")[1]
    parts.append(part("CPython", python_release, "Python-2.0", f"pkg:golang/{INTERPRETER}@{module}"))
    parts += [part(name, "", licence, f"pkg:generic/{name.split()[0].lower()}") for name, licence, _ in STATIC]
    needs["CPython"] = [name for name, _, _ in STATIC]
    for linked, licence in MODULES.items():
        parts.append(part(linked, _release(linked), licence, f"pkg:golang/{linked}@{_release(linked)}"))
    if zig is not None:
        purl = f"pkg:pypi/ziglang@{zig.parent.name.split('-')[1]}"
        parts.append(part("libunwind", "", "Apache-2.0 WITH LLVM-exception", purl))
    python = (tree / "lib" / "python3.14" / "LICENSE.txt").read_text()
    texts.append(_section(f"CPython {python_release}", "Python-2.0", python))
    if zig is not None:
        texts.append(
            _section("libunwind", "Apache-2.0 WITH LLVM-exception", (zig / "lib/libunwind/LICENSE.TXT").read_text())
        )
    texts.extend(_section(name, "see below", _module_licence(name)) for name in MODULES)
    static = "\n".join(f"{name}: {licence}, {where}" for name, licence, where in STATIC)
    texts.append(_section("Linked into CPython by python-build-standalone", "as listed", static))
    # Let kac depend on all parts that no other part requires: the interpreter, the launcher's modules, and the packages
    # that read lakes.
    asked_for = {each for name, needed in needs.items() if name != PROJECT for each in needed}
    needs["kac"] = [*needs.pop(PROJECT), *(str(each.name) for each in parts if each.name not in asked_for)]
    (tree / SBOM).parent.mkdir(parents=True, exist_ok=True)
    (tree / SBOM).write_text(listed(whole("kac", version, architecture=arch), parts, needs))
    (tree / LICENSES).write_text("\n".join(texts))


def _needs(about: PackageMetadata, arch: str) -> Iterator[str]:
    """Yield the names of packages that a package requires on a bundle's Python; requirements of its extras are left
    out.
    """
    for text in about.get_all("Requires-Dist") or ():
        asked = Requirement(text)
        if holds(asked.marker, platform_machine=arch):
            yield canonicalize_name(asked.name)


def _texts(info: Path) -> str:
    """Return the joined texts of the licence files of an installed package; ``""`` if it has no such file."""
    files = [path for path in sorted(info.rglob("*")) if path.is_file() and path.name not in ("METADATA", "RECORD")]
    found = [path for path in files if path.parent.name == "licenses" or path.name.upper().startswith(_NAMES)]
    return "\n".join(path.read_text(errors="replace") for path in found)


def _module_licence(name: str) -> str:
    where = json.loads(run(["go", "mod", "download", "-json", name], LAUNCHER))["Dir"]
    return (Path(where) / "LICENSE").read_text()


def _release(name: str) -> str:
    return next(line.split()[-1] for line in (LAUNCHER / "go.mod").read_text().splitlines() if f"{name} v" in line)


def _section(name: str, licence: str, text: str) -> str:
    return f"{'=' * 100}\n{name} ({licence})\n{'=' * 100}\n\n{text.strip()}\n"
