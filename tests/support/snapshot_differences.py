"""The differences between two snapshots, as readable lines for a failing test."""

from console.model.snapshot import Snapshot


def differences(left: Snapshot, right: Snapshot) -> list[str]:
    """Return a line for each difference in the configs, topics, quotas, ACLs and SCRAM credentials; empty if the
    snapshots agree in these.
    """
    found = []
    for resource in sorted({*left.configs, *right.configs}):
        a, b = left.configs.get(resource), right.configs.get(resource)
        if a != b:
            keys = sorted({e.name for e in a or ()} | {e.name for e in b or ()})
            for key in keys:
                one, other = a.get(key) if a else None, b.get(key) if b else None
                if one != other:
                    found.append(f"{resource} {key}: {one} / {other}")
    parts = ("topics", "quotas", "acls", "scram")
    return found + [
        f"{p}: {getattr(left, p)} / {getattr(right, p)}" for p in parts if getattr(left, p) != getattr(right, p)
    ]
