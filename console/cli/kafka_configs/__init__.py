"""`kac configs`: kafka-configs' command line on this client."""
