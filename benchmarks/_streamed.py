"""A fit to a stream of images; it tells how long it took and waited, and its memory, as JSON.

python -m benchmarks._streamed folder/of/parquet/files 10000
"""

import json
import sys
from time import perf_counter

from sliceflow import SlicedFlow
from sliceflow.core._memory import peak_memory
from sliceflow.data import stream
from sliceflow.data._streams import StreamTarget

if __name__ == "__main__":
    data, m = stream(sys.argv[1]), int(sys.argv[2])
    started = perf_counter()
    settings = {"n_particles": m, "schedule": "quick", "batch_size": 2 * m, "random_state": 0}
    plan = SlicedFlow(**settings).plan(data)
    plan.run()
    seconds = perf_counter() - started
    (target,) = plan.flow.targets
    assert isinstance(target, StreamTarget)
    waited = target.reader.waited
    print(json.dumps({"seconds": seconds, "waited": waited, "peak": peak_memory()}))
