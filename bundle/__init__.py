"""Makes the one-file kac: an interpreter, the locked packages and the console, packed behind a launcher in Go."""
