"""How a lake is filled: polls, Java and Spark for the application, the demo; and what is in it: report, checks."""
