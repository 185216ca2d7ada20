"""The flight record: what brokers answered, and when, so that the past can be shown as if it were live."""
