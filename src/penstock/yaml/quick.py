"""The quick way in: a Rust port of libyaml, for the plain texts that nearly all manifests are.

Faster parsers exist. The fastest we tried read one random text in fifteen differently from libyaml, such as a block
scalar at the end of a file without a newline; this one none in twenty thousand.

A text goes this way only if nothing in it could be read in two ways: no anchors, tags, tabs or control
characters, no `null`, no number written in an unusual form, no date, no key that is not a string. What is
left means the same to every YAML reader, and every null in it is a blank field. `tests/yaml` compares both
ways on the same texts.
"""

from typing import Any

import re2
from ryaml._ryaml import loads

# RE2 on bytes: the check costs a tenth of the parse.
_START = rb"""(?:^|[\s\[{,]|["']:)"""
_END = rb"(?:[\s,\]}]|$)"
_NUMBERS = (
    rb"0[0-9_xXoObB]|[0-9.]*_|[0-9.]{16}|\.[0-9iInN]"
    rb"|[0-9]+\.%b|[0-9]+\.[0-9]*0%b|[0-9][0-9.]*[eE][-+]?[0-9]" % (_END, _END)
)
_DOUBTFUL = (
    rb"(?m)[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xf0\x9f\xbf"
    rb"|^[%%?.]|^--- *[^ \n]|\n---|# {|^ {200}|(?:- ){20}"
    rb"|%b(?:[&*!]|\?(?:\s|$)|<<|:(?:\s|$)"
    rb"|(?:~|null|Null|NULL|True|TRUE|False|FALSE)(?:[\s,\]}:]|$)"
    rb"|(?:[-+]?[0-9.]+|true|false) *:%b"
    rb"|[-+]?(?:%b)|\+[0-9]|-0|[0-9]{4}-[0-9])" % (_START, _END, _NUMBERS)
)


# What YAML 1.1 takes for a boolean.
_OLD = rb"|%b(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)(?:[\s,\]}:]|$)" % _START


_MOST_BRACKETS = 500  # nesting is bounded by the careful way only


def _guard(pattern: bytes) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    return re2.compile(pattern, options)


_doubtful = _guard(_DOUBTFUL)
_doubtful_in_old = _guard(_DOUBTFUL + _OLD)


def parse(text: bytes, *, old: bool = False) -> Any:
    """The one document of a plain text; raises LookupError when the careful way has to be taken.

    With `old`, the text must mean the same in YAML 1.1 too.
    """
    if (_doubtful_in_old if old else _doubtful).search(text):
        raise LookupError
    if text.count(b"[") + text.count(b"{") > _MOST_BRACKETS:
        raise LookupError
    try:
        return loads(text.decode())
    except ValueError as error:
        raise LookupError from error
