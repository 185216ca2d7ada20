"""What somebody hostile may do to the console: a cluster that lies, a consumer that writes what it likes."""
