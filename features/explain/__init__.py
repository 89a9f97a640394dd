"""Why a match is wrong, and what would make it right."""
