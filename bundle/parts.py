"""Makes lists of parts in CycloneDX's format, checked against its schema: the parts of a file, or the requirements of a
package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from packageurl import PackageURL

from bundle.inputs import commit_time, digest
from console.cli.installed import commit
from requirements.locked import Locked, locked

PROJECT = "kafka-admin-console"
OUR_LICENCE = "Apache-2.0"


def part(name: str, version: str = "", licence: str = "", purl: str = "", sha256: str = "") -> Component:
    """Return a part of a list.

    licence: an SPDX identifier or expression, or another name; ``""`` if it is unknown. purl: its package URL. sha256:
    of its file, in hexadecimal.
    """
    return Component(
        name=name,
        bom_ref=name,
        version=version or None,
        licenses=[LicenseFactory().make_from_string(licence)] if licence else None,
        purl=PackageURL.from_string(purl) if purl else None,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else None,
    )


def whole(name: str, version: str, purl: str = "", sha256: str = "", **properties: str) -> Component:
    """Return the component that a list describes as a whole. properties: further names and values."""
    made = part(name, version, OUR_LICENCE, purl, sha256)
    made.type = ComponentType.APPLICATION
    made.properties.update(Property(name=f"kac:{key}", value=value) for key, value in properties.items())
    return made


def listed(root: Component, parts: Iterable[Component], needs: Mapping[str, Iterable[str]]) -> str:
    """Return the list as JSON; the same commit makes the same bytes.

    Args:
        root: the component that the list describes.
        needs: name of a part, or of the root -> names of its requirements. A requirement that is neither a part nor the
            root is left out.

    Raises RuntimeError with the error if the schema does not allow the list.
    """
    # Import late: the module makes parsers of 38 grammars, which takes seconds, and callers that only read locks do not
    # need it.
    from cyclonedx.validation.json import JsonStrictValidator

    named = {str(each.name): each for each in (root, *parts)}
    about = [str(root.name), str(root.version), commit(), *(f"{each.name}={each.value}" for each in root.properties)]
    number = uuid5(NAMESPACE_URL, " ".join(about))
    bom = Bom(components=[each for each in named.values() if each is not root], serial_number=number)
    bom.metadata.component = root
    bom.metadata.timestamp = commit_time()
    for name in sorted(named.keys() & needs.keys()):
        bom.register_dependency(named[name], [named[each] for each in sorted(set(needs[name])) if each in named])
    text = JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
    if (wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)) is not None:
        raise RuntimeError(f"the list of parts of {root.name} is not what CycloneDX's schema wants: {wrong}")
    return text


def of_package(package: Path, version: str, run_lock: str, build_lock: str = "") -> str:
    """Return the list of a wheel's or an sdist's requirements, from the locks. The package itself contains no
    third-party files.

    Args:
        run_lock: the text of the lock of its run-time requirements, without its extras.
        build_lock: the text of the lock of its build requirements; ``""`` to leave them out.
    """
    root = whole(PROJECT, version, f"pkg:pypi/{PROJECT}@{version}", digest(package), file=package.name)
    entries = list(locked(run_lock))
    running = {each.name for each in entries}
    for_building = {each.name for each in locked(build_lock)} - running
    entries += [each for each in locked(build_lock) if each.name in for_building]
    parts = [_asked_for(each, ComponentScope.EXCLUDED if each.name in for_building else None) for each in entries]
    needs: dict[str, list[str]] = {PROJECT: []}
    for each in entries:
        for name in each.wanted_by:
            needs.setdefault(name, []).append(each.name)
    return listed(root, parts, needs)


def _asked_for(entry: Locked, scope: ComponentScope | None) -> Component:
    """Return a package of a lock as a part. It has no hash, because any of the lock's files may be installed. scope:
    of the part; None for required, or for optional if the package has a marker.
    """
    purl = f"pkg:pypi/{entry.name}@{entry.version}"
    made = part(entry.name, entry.version, _installed_licence(entry), purl)
    made.scope = scope or (ComponentScope.OPTIONAL if entry.marker else ComponentScope.REQUIRED)
    if entry.marker:
        made.properties.add(Property(name="kac:where", value=entry.marker))
    files = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in entry.hashes]
    made.external_references.add(
        ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(purl), hashes=files)
    )
    return made


def _installed_licence(entry: Locked) -> str:
    """Return the licence in the metadata of a package of a lock; ``""`` if this version is not installed here."""
    try:
        about = metadata(entry.name)
    except PackageNotFoundError:
        return ""
    return licence_of(about) if about["Version"] == entry.version else ""


def licence_of(about: PackageMetadata) -> str:
    """Return the licence in a package's metadata: an expression, a classifier or a short text; "not named" if it has
    none of these.
    """
    if "License-Expression" in about:
        return str(about["License-Expression"])
    found = [each.split(" :: ")[-1] for each in about.get_all("Classifier") or () if each.startswith("License ::")]
    if found:
        return " and ".join(found)
    return str(about["License"]).splitlines()[0] if "License" in about else "not named"
