"""A fit to a stream of images; it tells how long it took and waited, and its memory, as JSON.

python -m benchmarks._streamed folder/of/parquet/files
"""

import json
import sys
from time import perf_counter

from sliceflow import SlicedFlow
from sliceflow._memory import peak_memory
from sliceflow.data import stream
from sliceflow.streams import StreamTarget

SETTINGS = {"schedule": "quick", "n_particles": 10_000, "batch_size": 20_000, "random_state": 0}

if __name__ == "__main__":
    data = stream(sys.argv[1])
    started = perf_counter()
    plan = SlicedFlow(**SETTINGS).plan(data)
    plan.run()
    seconds = perf_counter() - started
    (target,) = plan.flow.targets
    assert isinstance(target, StreamTarget)
    waited = target.reader.waited
    print(json.dumps({"seconds": seconds, "waited": waited, "peak": peak_memory()}))
