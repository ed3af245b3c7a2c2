"""Requests in flight on an event loop of their own, answers taken from ordinary code in the order they come."""

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class EventLoop:
    """An asyncio event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="rgsupport-engine")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Return what a coroutine returns, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stream(self, requests: Iterable[T], ask: Callable[[T], Coroutine[Any, Any, R]], *, window: int) -> Iterator[R]:
        """Yield the answers in the order they come, or raise what `ask` raised; close it to cancel what is in flight.

        Args:
            requests: Drawn lazily, by the thread that takes the answers.
            ask: Awaits the answer of one request.
            window: Requests that are in flight together, answers that were not taken yet included.
        """
        source = iter(requests)
        ended: queue.SimpleQueue[asyncio.Task[R]] = queue.SimpleQueue()
        running: set[asyncio.Task[R]] = set()

        def begin(request: T) -> None:
            task = self._loop.create_task(ask(request))
            running.add(task)
            task.add_done_callback(finish)

        def finish(task: asyncio.Task[R]) -> None:
            running.discard(task)
            ended.put(task)

        in_flight = 0
        try:
            while True:
                while in_flight < window and (drawn := next(source, _NOTHING)) is not _NOTHING:
                    self._loop.call_soon_threadsafe(begin, drawn)
                    in_flight += 1
                if not in_flight:
                    return
                answer = ended.get().result()
                in_flight -= 1
                yield answer
        finally:
            self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in running])

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_NOTHING: Any = object()
