"""What is easier said in Python about transactions."""

import functools
import inspect
import operator
import threading

from ._errors import BadValue, InTransaction
from ._fyris import transaction

#: Of each thread, the transactional function that it runs. What a task of asyncio begins in one runs after it, so this
#: is no context variable.
_runs = threading.local()


def transactional(function=None, /, *, attempts=1000, hold=0.1):
    """Makes of a function one that runs in a transaction, which it gets as its first argument.

        @fyris.transactional
        def pay(tx, giver, taker, amount):
            within = tx.table(accounts)
            within[giver] -= amount
            within[taker] += amount
            return within[giver]

        left = pay("ada", "bob", 30)

    The transaction is committed when the function returns. If others have changed meanwhile what it has read, it runs
    again, up to `attempts` times in all (`@fyris.transactional(attempts=5)`), so what it does beside must bear
    repetition; after the last one Conflict is raised. If it raises, nothing has happened, and the exception goes on.
    Whoever was called first goes first, so that of functions that are at odds one gets done. After eight conflicts all
    others wait for it: writes of what it has read or written, up to `hold` seconds; if it has not returned by then, and
    reads on or others are faster again, HoldExpired is raised. With 0 nobody waits for it. For one call:
    `fyris.transactional(function)(...)`.

    A transactional function that another one calls on the same thread raises InTransaction: it would be a transaction
    of its own, whose commit the outer one may never get past. Give tx to a function without the decorator instead. A
    method is `def pay(tx, self, amount)`, and called as `bank.pay(30)`. A coroutine function or a generator function,
    which would run after its transaction, raises TypeError when it is decorated.
    """
    attempts = operator.index(attempts)
    if attempts < 1:
        raise BadValue(f"{attempts} attempts")
    if function is None:
        return functools.partial(transactional, attempts=attempts, hold=hold)
    name = getattr(function, "__qualname__", repr(function))
    _check(function, name)

    @functools.wraps(function)
    def run(*args, **kwargs):
        outer = getattr(_runs, "name", None)
        if outer is not None:
            raise InTransaction(f"{name} was called within {outer}, which is transactional: pass tx on")
        _runs.name = name
        try:
            return attempt(args, kwargs)
        finally:
            _runs.name = None

    def attempt(args, kwargs):
        tx = transaction(hold=hold)
        for lost in range(1, attempts):
            try:
                with tx:
                    return function(tx, *args, **kwargs)
            except Exception:
                # Whatever it is, it may come of the conflict.
                if not tx._has_lost:
                    raise
            tx = tx._again(lost)
        with tx:
            return function(tx, *args, **kwargs)

    return run


def _check(function, name):
    """Refuses what does its work after it was called, and what cannot be called."""
    if not callable(function):
        raise TypeError(f"transactional() takes a function, not a {type(function).__name__}")
    for is_one, what in (
        (inspect.iscoroutinefunction, "a coroutine function"),
        (inspect.isasyncgenfunction, "an asynchronous generator function"),
        (inspect.isgeneratorfunction, "a generator function"),
    ):
        if is_one(function):
            raise TypeError(f"{name} is {what}, which would run after its transaction")
