"""The report of an error: the user's frames with cell names and source lines."""

from __future__ import annotations

import linecache
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.errors import BlsnbError, RequestInterrupted
from blsnb.files.interrupts import without_interrupts
from blsnb.magics.cell_book import CellBook, CellText
from blsnb.magics.errors import frames
from blsnb.printable import counted

if TYPE_CHECKING:
    from blsnb.magics.errors.chain import Link

_HOOK = "_render_traceback_"
"""Name of the method with which IPython renders an exception."""
ShownError = BlsnbError | RequestInterrupted
_SHOWN = (BlsnbError, RequestInterrupted)
_MAX_FRAMES = 8
_MAX_CAUSES = 4
_MAGIC_CALL = (
    r"get_ipython\(\)\.run_(?P<kind>cell|line)_magic\("
    r"'(?P<name>\w+)', (?P<q>['\"])(?P<line>.*?)(?P=q)[,)]"
)
_RULE = "-" * 75
_FOOT = "%tb shows every frame; %debug opens the debugger at the last line shown."


class Report:
    """Renders errors of blsnb."""

    def __init__(self, shell: Any, cells: CellBook) -> None:
        self._shell = shell
        self.sender = getattr(shell.showtraceback, "__code__", None)
        """IPython's function that has errors rendered, and sends them."""
        self._cells = cells
        self._failed: weakref.WeakKeyDictionary[ShownError, tuple[Path, CellText]]
        self._failed = weakref.WeakKeyDictionary()
        self._format_all = shell.InteractiveTB.structured_traceback
        """IPython's function that formats all frames."""
        self._cell = 0
        """Number of the cell whose error was reported last."""

    def failed(self, error: ShownError, path: Path, place: CellText) -> None:
        """Note the file that caused an error; `CellBook` has only files that load."""
        self._failed[error] = path, place

    def _failed_file(self, error: BaseException) -> tuple[Path, CellText] | None:
        # Python's own errors cannot be referenced weakly.
        return self._failed.get(error) if isinstance(error, _SHOWN) else None

    def begin(self) -> None:
        """Report Python's own errors, too: their classes cannot have a hook."""
        self._shell.InteractiveTB.structured_traceback = self._structured_traceback

    def end(self) -> None:
        """Let IPython format all errors, unless its function was replaced since."""
        formatter = self._shell.InteractiveTB
        if formatter.structured_traceback == self._structured_traceback:
            formatter.structured_traceback = self._format_all

    def _structured_traceback(
        self, kind: Any, error: Any, trace: Any, *args: Any, **options: Any
    ) -> list[str]:
        if frames.pass_blsnb(trace):
            return self.render(error)
        lines: list[str] = self._format_all(kind, error, trace, *args, **options)
        return lines

    def render(self, error: BaseException) -> list[str]:
        """Return the lines of a report.

        It has all frames in ``%xmode Verbose`` and when a later cell shows it again.
        """
        full = sys.last_traceback if sys.last_value is error else error.__traceback__
        if full is error.__traceback__:
            # Reduced to the user's frames, so that %debug opens there.
            parts = frames.users(error.__traceback__)
            for cause in _causes(error)[-1:]:
                parts += frames.users(cause.__traceback__)
            error.__traceback__ = frames.joined(parts)
            self._cell = self._shell.execution_count
            is_later = False
        else:
            # IPython renders it once more for its history.
            is_later = self._cell != self._shell.execution_count
        mode = self._shell.InteractiveTB.mode
        # All frames take long to render.
        if is_later or mode == "Verbose":
            return self._every_frame(error, full)
        return self._lines(error, full, brief=mode == "Minimal")

    def _every_frame(
        self, error: BaseException, full: types.TracebackType | None
    ) -> list[str]:
        tb_formatter = self._shell.InteractiveTB
        hides, tb_formatter.skip_hidden = tb_formatter.skip_hidden, False
        try:
            lines: list[str] = self._format_all(type(error), error, full, tb_offset=1)
        finally:
            tb_formatter.skip_hidden = hides
        return lines

    def _lines(
        self, error: BaseException, full: types.TracebackType | None, brief: bool
    ) -> list[str]:
        # Deferred: loading the extension must not import them.
        from blsnb.magics.errors.hints import hints

        name = self._coloured(type(error).__name__, "31")
        message = frames.without_repeats(str(error).rstrip())
        text = [f"{name}: {message}" if message else name]
        text += map(str, getattr(error, "__notes__", ()))
        if brief:
            return text
        above = [_RULE, *self._frames(full, self._failed_file(error))]
        above += self._chain(error)
        for cause in _causes(error):
            above += self._cause(cause, error)
        whole = "\n".join([*above, str(error)])
        below = hints(whole, _causes(error), self._shell.user_ns)
        return [*above, *text, *(f"\n{hint}" for hint in below), f"\n{_FOOT}"]

    def _frames(
        self,
        trace: types.TracebackType | None,
        failed: tuple[Path, CellText] | None = None,
    ) -> Iterator[str]:
        parts = frames.counted(frames.users(trace))
        if len(parts) > _MAX_FRAMES:
            yield f"… {counted(len(parts) - _MAX_FRAMES, 'frame')} above"
        for part, times in parts[-_MAX_FRAMES:]:
            if times > 1:
                yield f"{times} times:"
            magic = self._magic(part)
            if magic:
                yield f"{self._green(magic)}\n"
                continue
            code = part.tb_frame.f_code
            function = "" if code.co_name == "<module>" else f", in {code.co_qualname}"
            yield from self._place(
                code.co_filename, part.tb_lineno, function, None, failed
            )

    def _magic(self, part: types.TracebackType) -> str:
        """Return the line of a magic as typed; empty if the frame calls none."""
        filename = part.tb_frame.f_code.co_filename
        found = re.match(_MAGIC_CALL, linecache.getline(filename, part.tb_lineno))
        if found is None or not self._cells.name_of(filename):
            return ""
        sign = "%%" if found["kind"] == "cell" else "%"
        typed = f"{sign}{found['name']} {found['line']}".rstrip()
        return f"cell {self._cells.name_of(filename)}: {typed}"

    def _place(
        self,
        filename: str,
        line: int,
        after: str,
        source: str | None,
        failed: tuple[Path, CellText] | None = None,
    ) -> Iterator[str]:
        """Yield the location of a line, in its cell if it has one, and the line."""
        place = self._cells.find(filename)
        if source is not None:
            place = self._cells.with_text(source)
        if failed is not None and filename == str(failed[0]):
            place = failed[1]
        cell = self._cells.name_of(filename)
        if place is not None:
            label, source = place.label(filename, line), place.text
        else:
            label = f"cell {cell} line {line}" if cell else f"{filename}:{line}"
        yield self._green(f"{label}{after}")
        offset = 0 if place is None else place.offset
        yield from frames.excerpt(line, source, filename, offset, self._bold)
        yield ""

    def _chain(self, error: BaseException) -> Iterator[str]:
        # Deferred: loading the extension must not import traces.
        from blsnb.magics.errors.chain import failed_chain

        run = getattr(error, "run", None)
        links = [] if run is None else failed_chain(run.trace)
        if len(links) > 1:
            yield from self._links(links)
        began = next((link for link in reversed(links) if link.line), None)
        if began is None:
            return
        # The location of a caller, or of a model alone, is shown with its exception.
        if not _causes(error) or (len(links) > 1 and not began.calls):
            after = f", in model {began.model}"
            yield from self._place(began.filename, began.line, after, began.source)

    def _links(self, links: list[Link]) -> Iterator[str]:
        yield f"Models: {' → '.join(link.model for link in links)}"
        for link in links:
            what = f"calls {link.calls}" if link.calls else "fails"
            why = f": {link.error}" if link.error else ""
            yield f"  {link.model} {what}{self._where(link)}{why}"
        yield ""

    def _where(self, link: Link) -> str:
        if not link.line:
            return ""
        place = self._cells.with_text(link.source)
        if place is None:
            return f" at {link.filename}:{link.line}"
        return f" at {place.label(link.filename, link.line)}"

    def _cause(self, cause: BaseException, error: BaseException) -> Iterator[str]:
        failed = self._failed_file(error)
        yield from self._frames(cause.__traceback__, failed)
        filename, line = _syntax_location(cause)
        name = filename or str(failed[0] if failed else "")
        # A configuration that `define` received as text has no file.
        if line and name:
            yield from self._place(name, line, "", None, failed)
        if str(cause) not in str(error):
            yield f"{type(cause).__name__}: {cause}\n"

    def _green(self, text: str) -> str:
        return self._coloured(text, "32")

    def _bold(self, text: str) -> str:
        return self._coloured(text, "1")

    def _coloured(self, text: str, code: str) -> str:
        if str(self._shell.colors).lower() == "nocolor":
            return text
        return f"\x1b[{code}m{text}\x1b[0m"


def _causes(error: BaseException) -> list[BaseException]:
    """Return the model's exception after those that caused it."""
    found: list[BaseException] = []
    cause = error.__cause__
    while cause is not None and len(found) < _MAX_CAUSES:
        if not _is_wrapper(cause):
            found.append(cause)
        suppressed = cause.__suppress_context__ or _is_wrapper(cause)
        cause = cause.__cause__ or (None if suppressed else cause.__context__)
    return found[::-1]


def _syntax_location(cause: BaseException) -> tuple[str, int]:
    """Return the location of a syntax error, which has no frame."""
    from blsnb.model.text.text_format import TextFormatError

    match cause:
        case SyntaxError():
            return cause.filename or "", cause.lineno or 0
        case TextFormatError():
            return "", cause.line
    return "", 0


def _is_wrapper(error: BaseException) -> bool:
    """Whether an exception only wraps another one."""
    return type(error).__module__.startswith("blsnb.engine") or isinstance(
        error, BlsnbError
    )


def register(report: Report) -> Callable[[], None]:
    """Let IPython render errors as reports; return a function that undoes it."""

    def render_interrupted(error: RequestInterrupted) -> list[str]:
        # A second Ctrl-C would replace the report by one of the code that renders it,
        # or by its own name in IPython's code that sends it.
        return without_interrupts(lambda: report.render(error), report.sender)

    hooks = {
        BlsnbError: lambda error: report.render(error),
        RequestInterrupted: render_interrupted,
    }
    for kind, hook in hooks.items():
        setattr(kind, _HOOK, hook)
    report.begin()

    def unregister() -> None:
        report.end()
        for kind in _SHOWN:
            delattr(kind, _HOOK)

    return unregister
