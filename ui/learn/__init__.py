"""The Learn page: a course in short chapters."""
