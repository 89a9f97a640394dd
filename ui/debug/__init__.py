"""The Debug page: why a match is wrong, one tool a tab."""
