"""Work in threads: an error is the one that happened, and the inference mode is passed on."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer

import pytest
import torch

from sliceflow.core._threads import parallel, results


def test_the_error_is_raised_and_not_what_it_cancelled():
    end = Event()

    def fail():
        Timer(0.2, end.set).start()
        raise KeyError("the cause")

    with ThreadPoolExecutor(1) as busy, ThreadPoolExecutor(1) as other:
        futures = [busy.submit(end.wait, 60), busy.submit(int), other.submit(fail)]
        with pytest.raises(KeyError, match="the cause"):
            results(futures)
    assert futures[1].cancelled()


def test_the_inference_mode_is_passed_on():
    assert parallel(lambda _: torch.is_inference_mode_enabled(), range(2)) == [False, False]
    with torch.inference_mode():
        assert parallel(lambda _: torch.is_inference_mode_enabled(), range(2)) == [True, True]
