"""The kinds of edits: one file for each noun, with an object for each kind of edit."""
