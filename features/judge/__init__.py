"""What a matching is worth: metrics, verification by a map, confidence, and what others do."""
