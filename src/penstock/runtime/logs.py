"""Structured logs: one JSON object a line with the keys that tools for Flux know, or a console form for people."""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast, get_args

import orjson
import structlog

from penstock.errors import UsageError
from penstock.runtime.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from structlog.typing import EventDict, WrappedLogger

Encoding = Literal["json", "console"]
Level = Literal["trace", "debug", "info", "error"]

_OURS: dict[Level, int] = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "error": logging.ERROR,
}
_LIBRARIES: dict[Level, int] = {
    "trace": logging.DEBUG,
    "debug": logging.INFO,
    "info": logging.WARNING,
    "error": logging.ERROR,
}


def configure(
    *,
    encoding: str = "json",
    level: str = "info",
    stream: TextIO | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Send the logs of this process, and of the libraries in it, to `stream` (standard error).

    `trace` differs from `debug` in that libraries tell everything too.
    """
    if encoding not in get_args(Encoding):
        raise UsageError(f'--log-encoding: "{encoding}" is not json or console')
    if level not in get_args(Level):
        raise UsageError(f'--log-level: "{level}" is not trace, debug, info or error')
    chosen = cast(Level, level)
    target = stream or sys.stderr
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            _explain_errors,
            _Shape(now),
            _json if encoding == "json" else _console(target),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_OURS[chosen]),
        logger_factory=structlog.WriteLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Forward()], level=_LIBRARIES[chosen], force=True)
    logging.captureWarnings(capture=True)


class _Forward(logging.Handler):
    """Hands what libraries log to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        exc_info = record.exc_info if record.exc_info and record.exc_info[0] else None
        fields: dict[str, Any] = {"exc_info": exc_info} if exc_info else {}
        tell = {logging.DEBUG: log.debug, logging.INFO: log.info, logging.WARNING: log.warning}
        step = min(max(record.levelno // 10 * 10, logging.DEBUG), logging.ERROR)
        tell.get(step, log.error)(record.getMessage(), logger=record.name, **fields)


class _Shape:
    """Level, time and message first; everything redacted."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        moment = self._now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"level": event.pop("level"), "ts": moment, "msg": event.pop("event")}
        return redact({**head, **event})


def _explain_errors(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """An exception becomes its sentence under `error`, and its traceback under `stacktrace`."""
    exc_info = event.pop("exc_info", None)
    if exc_info is True:
        exc_info = sys.exc_info()
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, BaseException):
        event.setdefault("error", str(error) or type(error).__name__)
        event["stacktrace"] = "\n".join(_stack(error))
    return event


def _stack(error: BaseException) -> Iterator[str]:
    """Where an exception came from, its causes first. Source lines are left out: they would be read from disk."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _stack(before)
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for one in inner:
        yield from _stack(one)
    yield f"{type(error).__name__}: {error}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield f"  {frame.f_code.co_filename}:{line} {frame.f_code.co_qualname}"
    yield from getattr(error, "__notes__", ())


def _json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _console(target: TextIO) -> Callable[[WrappedLogger, str, EventDict], str]:
    renderer = structlog.dev.ConsoleRenderer(colors=target.isatty(), event_key="msg", timestamp_key="ts")

    def render(logger: WrappedLogger, method: str, event: EventDict) -> str:
        return renderer(logger, method, event)

    return render
