"""The flight record: what brokers answered, and when, so that the past can be looked at as if it were live."""
