"""One file for the edits of each noun, with a record for each kind of edit."""
