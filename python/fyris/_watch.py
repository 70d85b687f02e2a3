"""What is easier said in Python about watching."""

import asyncio
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ._fyris import Alarm


class ObjectChange(NamedTuple):
    """The change of one object: `old` is what was there, None of one that came; `new` what is there since, None of one
    that was deleted. `table` is the Table that was given to subscribe()."""

    table: Any
    old: tuple | None
    new: tuple | None


class WatchEvent(NamedTuple):
    """What a subscription is told. `seq` counts from 1; what was lost counts as well. `kind` is one of

    'changes': what one call, or one transaction, has changed, of what was asked for: `changes`, a tuple of ObjectChange;
    'cleared': all objects of `table` went at once, of which there were `size`;
    'deleted': `table` was deleted, and nothing more is told of it;
    'overflow': changes did not fit into the queue, `lost` of them at most: what is known of the tables by this
    subscription is not what they hold any more;
    'objects': some of the `objects` of `table` that were there when it began, with from_snapshot;
    'current': all of these have been told; from now on changes come.

    What an event does not tell is an empty tuple, None or 0."""

    seq: int
    kind: str
    changes: tuple = ()
    table: Any = None
    objects: tuple = ()
    size: int = 0
    lost: int = 0


class _Waiting:
    """The tasks of one event loop that wait for subscriptions."""

    def __init__(self, loop):
        self.alarm = Alarm()
        #: By the place of the subscription, which is its id.
        self._tasks = {}
        loop.add_reader(self.alarm.fileno(), self._wake)

    def _wake(self):
        for place in self.alarm.due():
            for task in self._tasks.pop(place, ()):
                if not task.done():
                    task.set_result(None)

    def add(self, place, task):
        self._tasks.setdefault(place, []).append(task)

    def remove(self, place, task):
        tasks = self._tasks.get(place, [])
        if task in tasks:
            tasks.remove(task)
        if not tasks:
            self._tasks.pop(place, None)


_loops = WeakKeyDictionary()


async def next_event(subscription):
    """Waits for the next event. None is taken before it can be returned, so that who is cancelled loses none."""
    event = subscription.try_next()
    if event is not None:
        return event
    loop = asyncio.get_running_loop()
    waiting = _loops.get(loop)
    if waiting is None:
        waiting = _loops[loop] = _Waiting(loop)
    place = id(subscription)
    while True:
        event = subscription._poll(waiting.alarm, place)
        if event is not None:
            return event
        woken = loop.create_future()
        waiting.add(place, woken)
        try:
            await woken
        finally:
            waiting.remove(place, woken)
