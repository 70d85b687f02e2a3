"""What is easier said in Python about transactions."""

import functools
import operator

from ._errors import BadValue
from ._fyris import transaction


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
    """
    attempts = operator.index(attempts)
    if attempts < 1:
        raise BadValue(f"{attempts} attempts")
    if function is None:
        return functools.partial(transactional, attempts=attempts, hold=hold)

    @functools.wraps(function)
    def run(*args, **kwargs):
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
