"""Figures of a server for Prometheus, in a registry of their own."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    exposition,
    generate_latest,
)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
"""Limits of the histogram of times."""

MEDIA_TYPE = exposition.CONTENT_TYPE_LATEST


class Metrics:
    """The figures.

    Parameters
    ----------
    queue_length
        Returns the number of requests that wait or are being answered.
    """

    def __init__(self, queue_length: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "sliceflow_requests_total",
            "Requests, by route and status.",
            ["route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "sliceflow_request_seconds",
            "Seconds from the arrival of a request to the end of its answer.",
            ["route"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._samples = Counter(
            "sliceflow_samples_total", "Samples drawn, by model.", ["model"], registry=self.registry
        )
        length = Gauge(
            "sliceflow_queue_length",
            "Requests that wait or are being answered.",
            registry=self.registry,
        )
        length.set_function(queue_length)

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_samples(self, model: str, n: int) -> None:
        """Count samples."""
        self._samples.labels(model).inc(n)

    def page(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self.registry)
