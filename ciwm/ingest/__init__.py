"""Results of other benchmark tools, read into one form: series, metric, unit, direction, values.

One module a format; `registry` knows them all. Unit and direction come with the format, or are
stated by the user, and are never guessed.
"""

from ciwm.ingest.measured import Measured, Reading
from ciwm.ingest.registry import FORMATS, read_file
from ciwm.ingest.stated import Stated, as_stated, settled

__all__ = ["FORMATS", "Measured", "Reading", "Stated", "as_stated", "read_file", "settled"]
