"""Clients of a server, in a process of their own: they ask again and again, until a time is over.

    python -m benchmarks._clients PORT PATH CLIENTS SECONDS

prints, as JSON, the milliseconds and the samples of each answer, how often each status came, and
the seconds that it all took. An answer that breaks off is counted as such, and so is a refused
connection.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from contextlib import suppress

BROKEN, REFUSED = "broken", "refused"
SIZES = (1, 10, 100)
"""Numbers of samples that clients ask for: each client always for the same."""

PAUSE = 0.2
"""Seconds after which a client asks again that was told to come later."""


def request(path: str, n: int, seed: int) -> bytes:
    """Return a request as bytes."""
    body = json.dumps({"n": n, "seed": seed})
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


async def answer(reader: asyncio.StreamReader) -> str:
    """Read an answer, and return its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    _, _, rest = head.partition("content-length:")
    await reader.readexactly(int(rest.split("\r\n")[0]))
    return head.split()[1]


async def client(
    port: int, path: str, seed: int, until: float, statuses: Counter, answers: list
) -> None:
    """Ask again and again, on one connection as long as it stays open."""
    writer, n = None, SIZES[seed % len(SIZES)]
    while time.monotonic() < until:
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            started = time.perf_counter()
            writer.write(request(path, n, seed))
            status = await answer(reader)
        except asyncio.IncompleteReadError as error:
            writer = None
            if error.partial:
                statuses[BROKEN] += 1
        except OSError:
            statuses[REFUSED] += 1
            return
        else:
            statuses[status] += 1
            if status == "200":
                answers.append((1000 * (time.perf_counter() - started), n))
            else:
                await asyncio.sleep(PAUSE)
    if writer is not None:
        writer.close()


async def main(port: int, path: str, clients: int, seconds: float) -> None:
    """Run the clients, and print what they found."""
    statuses: Counter = Counter()
    answers: list[tuple[float, int]] = []
    until = time.monotonic() + seconds
    each = (client(port, path, seed, until, statuses, answers) for seed in range(clients))
    started = time.monotonic()
    await asyncio.gather(*each)
    took = time.monotonic() - started  # also of the answers that came after the end
    print(json.dumps({"statuses": statuses, "answers": answers, "seconds": took}))


if __name__ == "__main__":
    port, path, clients, seconds = sys.argv[1:]
    with suppress(KeyboardInterrupt):
        asyncio.run(main(int(port), path, int(clients), float(seconds)))
