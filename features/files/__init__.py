"""Files in and out: points, pairs, problems and exports, read as if their authors were hostile."""
