"""A Spark DataFrame of votes and clusterings in, the DataFrame with refined labels out.

Hard labels with no more distinct patterns than a limit are grouped in Spark, fitted on the driver
and joined back. All other tables stay where they are: their rows are packed into blocks, and the
driver asks the blocks for sums (:mod:`bc3e.engines.spark.objects`). The mathematics is that of
:mod:`bc3e.learning` in both cases.

Examples
--------
>>> from bc3e.engines import spark as engine
>>> spark = engine.session("local[2]")                                          # doctest: +SKIP
>>> frame = spark.read.parquet("labels.parquet")                                # doctest: +SKIP
>>> outcome = engine.refine(frame, votes=["clf_*"], clusters=["clu_*"])         # doctest: +SKIP
>>> outcome.frame.write.parquet("refined.parquet")                              # doctest: +SKIP
"""

from bc3e.engines.spark.refining import Outcome, refine
from bc3e.engines.spark.sessions import session

__all__ = ["Outcome", "refine", "session"]
