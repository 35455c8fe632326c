# SPDX-License-Identifier: MIT
"""The exception for a refused image."""


class Refused(Exception):
    """The judge cannot make this image; the text gives the reason."""


def brief(value, most=60):
    """Text of the candidate's for a message."""
    text = ascii(value)
    return text if len(text) <= most else text[:most - 3] + "..."
