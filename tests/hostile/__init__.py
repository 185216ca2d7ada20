"""What an attacker may do to the console: a cluster that lies, a consumer that writes what it likes."""
