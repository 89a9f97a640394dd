"""Many pairs of photographs: read, matched one after another on all cores, told in a table, written to files."""

from features.batch.run import Batch, Progress, Row, run_batch
from features.batch.sources import BatchError, Sources, from_files, from_folder, from_list, from_zip

__all__ = ["Batch", "BatchError", "Progress", "Row", "Sources"]
__all__ += ["from_files", "from_folder", "from_list", "from_zip", "run_batch"]
