"""The content of the demo's schema registry: subjects with references, one without compatibility checks, one that was
deleted.
"""

from __future__ import annotations

from console.embedded.registry import Registry
from console.model.numbers import Data, json_text
from console.model.schemas import AVRO
from console.model.subjects import COMPATIBILITY, NONE, SchemaReference, SchemaSource


def _record(name: str, *fields: dict[str, Data], references: tuple[SchemaReference, ...] = ()) -> SchemaSource:
    document = {"type": "record", "name": name, "namespace": "shop", "fields": list(fields)}
    return SchemaSource(AVRO, json_text(document), references)


def demo_registry() -> Registry:
    """Return a registry with the schemas for the topics ``checkout.*``."""
    registry = Registry()
    id_: dict[str, Data] = {"name": "id", "type": "long"}
    note: dict[str, Data] = {"name": "note", "type": "string", "default": ""}
    for fields in ((id_,), (id_, note)):
        registry.register("checkout.orders-value", _record("Order", *fields))
    order = SchemaReference("shop.Order", "checkout.orders-value", 2)
    of_order: dict[str, Data] = {"name": "order", "type": "shop.Order"}
    payment = _record("Payment", of_order, {"name": "cents", "type": "long"}, references=(order,))
    registry.register("checkout.payments-value", payment)
    registry.values["checkout.carts-value", COMPATIBILITY] = NONE
    for kind in ("int", "string"):
        registry.register("checkout.carts-value", _record("Cart", {"name": "id", "type": kind}))
    registry.register("checkout.vouchers-value", _record("Voucher", id_)).is_deleted = True
    return registry
