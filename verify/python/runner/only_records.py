# SPDX-License-Identifier: MIT
"""Calls that are only recorded: launches become operations of the record, and nothing runs. The judge replays them. A call that
needs what a kernel computes is made once more, with launches."""


class NeedsLaunches(BaseException):
    """The kernels of a call that is only recorded have to be launched."""


class State:
    """The state of this process."""

    def __init__(self):
        self.on = False
        self.needs_launches = False

    def begin_call(self, on):
        self.on, self.needs_launches = on, False


STATE = State()


def refuse():
    """End the call. The judge hears of it (wire.NEEDS_LAUNCHES) even if the candidate catches the exception."""
    STATE.needs_launches = True
    raise NeedsLaunches()
