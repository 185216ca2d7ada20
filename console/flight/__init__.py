"""The flight record: the brokers' answers with their times, so that the past can be shown as if it were live."""
