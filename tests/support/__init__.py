"""What tests and the demo share: real brokers, their certificates, their request log."""
