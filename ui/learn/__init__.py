"""The Learn page: ten short chapters."""
