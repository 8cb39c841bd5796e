"""No value at all, which is not the same as null."""


class Missing:
    """The type of `MISSING`."""


MISSING = Missing()
