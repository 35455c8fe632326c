# SPDX-License-Identifier: MIT
"""Why an image is refused."""


class Refused(Exception):
    """No image of ours equals this one; the text has the reason."""


def brief(value, most=60):
    """Text of the candidate's for a message."""
    text = ascii(value)
    return text if len(text) <= most else text[:most - 3] + "..."
