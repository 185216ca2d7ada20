"""The journal: the changes that kac has sent from this host, with their authors, in one file for each cluster. A change
is written before it is sent, and its outcome after the response.
"""
