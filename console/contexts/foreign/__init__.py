"""What other Kafka tools have configured on this machine: read, never written."""
