"""The forms of other tools' files that kac reads, one module for each tool."""

from __future__ import annotations

from console.files.foreign import connect_rest, kafka_acls, kafka_configs, reassignment, strimzi, topicctl

DOCUMENT_FORMS = (strimzi.FORM, topicctl.FORM, reassignment.FORM, reassignment.TOPICS_TO_MOVE, connect_rest.FORM)
TEXT_FORMS = (kafka_acls.FORM, kafka_configs.FORM, reassignment.GENERATED, connect_rest.PROPERTIES)
