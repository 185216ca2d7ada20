"""What was changed by whom, one file for a cluster: written before a change is sent, and again once it is answered."""
