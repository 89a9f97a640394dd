"""What runs beside the page: solver jobs, comparisons and experiments, and the history they keep."""
