"""The client: connections, routing, retries; a module for each noun."""
