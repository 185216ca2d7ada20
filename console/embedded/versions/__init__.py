"""What each Kafka release advertises, as data."""
