"""What stands above the panes for a moment: questions and help."""
