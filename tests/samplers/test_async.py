import asyncio
from itertools import count

import pytest

from rgsupport.samplers._async import EventLoop


@pytest.fixture
def loop():
    made = EventLoop()
    yield made
    made.close()


def test_every_request_is_answered_once_in_the_order_the_answers_come(loop):
    async def ask(number):
        await asyncio.sleep(0.02 * (5 - number))
        return number

    assert list(loop.stream(range(5), ask, window=5)) == [4, 3, 2, 1, 0]
    assert sorted(loop.stream(range(100), lambda number: asyncio.sleep(0, number), window=7)) == list(range(100))
    assert list(loop.stream([], ask, window=3)) == []


def test_no_more_requests_are_drawn_than_the_window_holds(loop):
    drawn, running, most = [], 0, 0

    def source():
        for number in range(50):
            drawn.append(number)
            yield number

    async def ask(number):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return number

    for taken, _ in enumerate(loop.stream(source(), ask, window=4)):
        assert len(drawn) <= taken + 4
    assert most == 4


def test_an_error_is_raised_and_what_is_in_flight_is_cancelled(loop):
    cancelled = []

    async def ask(number):
        if number == 1:
            msg = "no answer"
            raise ValueError(msg)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    with pytest.raises(ValueError, match="no answer"):
        list(loop.stream(count(), ask, window=3))
    loop.run(asyncio.sleep(0.01))
    assert sorted(cancelled) == [0, 2]


def test_closing_the_answers_early_cancels_what_is_in_flight(loop):
    cancelled = []

    async def ask(number):
        try:
            await asyncio.sleep(60 * number)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    answers = loop.stream(count(), ask, window=3)
    assert next(answers) == 0
    answers.close()
    loop.run(asyncio.sleep(0.01))
    assert sorted(cancelled) == [1, 2]
