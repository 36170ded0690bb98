"""Read pickles of numbers, texts, lists, dictionaries and numpy arrays, without running any code that they name.

This reads the operations itself. The names of numpy's functions that make arrays stand for functions of this file, and
any other name or operation is refused. A part may be used again only if it is a short text, a number, a name or a type
of numbers. So lists that contain each other do not grow, and nothing is kept of an element that was handed on.
"""

import math
import pickletools
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from lra.types import UserError

MOST_OPERATIONS = 200_000  # per element, or per 1,000 of them, which pickle writes together; honest files have 60,000
MOST_BYTES = 1 << 27  # of texts and arrays, likewise; honest files have 66 MB
MOST_KEPT, MOST_KEPT_LETTERS = 1 << 18, 64  # number and size of the parts that may be used again
LETTERS = 80  # letters of the file's own text in an error
NAMES = {operation.code.encode("latin1"): operation.name for operation in pickletools.opcodes}
NUMBERS = {"BININT": "<i", "BININT1": "<B", "BININT2": "<H", "BINFLOAT": ">d"}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
TEXTS = {  # how the length is written; Python 2 wrote the last two
    **{"SHORT_BINUNICODE": "<B", "BINUNICODE": "<I", "BINUNICODE8": "<Q"},
    **{"SHORT_BINBYTES": "<B", "BINBYTES": "<I", "BINBYTES8": "<Q", "BYTEARRAY8": "<Q"},
    **{"SHORT_BINSTRING": "<B", "BINSTRING": "<i"},
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
PUTS, GETS = {"BINPUT": "<B", "LONG_BINPUT": "<I"}, {"BINGET": "<B", "LONG_BINGET": "<I"}
TYPE_OF_NUMBERS = re.compile(r"[iu][1248]|f[248]|b1")
TYPE_OF_OBJECTS = re.compile(rf"{TYPE_OF_NUMBERS.pattern}|O8|[US]\d{{1,4}}")  # of arrays that `np.save` has pickled
PROTOCOLS_OF_TEXT = ("PUT", "GET", "INT", "LONG", "STRING", "UNICODE", "FLOAT", "DICT", "LIST")


class WrongPickleError(Exception):
    """A pickle does what no file of numbers does, or is damaged; `kind` is that of the user's mistake, if it is one."""

    def __init__(self, line: str, *, kind: str | None = None):
        super().__init__(line)
        self.kind = kind


class _Name(str):
    """The name of a function or class."""


class _Type:
    """A type of numbers; its order of bytes comes after it is made."""

    allowed = TYPE_OF_NUMBERS

    def __init__(self, code: str | bytes, *_: object):
        text = code.decode("latin1") if isinstance(code, bytes) else code
        if not self.allowed.fullmatch(text):
            raise WrongPickleError(f"it has an array of {text!r:.{LETTERS}}, which are no numbers")
        self.dtype = np.dtype(text)

    def build(self, state: tuple[Any, ...]) -> None:
        order: Any = state[1] if isinstance(state[1], str) else state[1].decode()
        self.dtype = self.dtype.newbyteorder(order)


class _ObjectType(_Type):
    """A type of numbers, texts or objects."""

    allowed = TYPE_OF_OBJECTS


class _Array:
    """An array; its numbers come after it is made."""

    def __init__(self, *_: object):
        self.numbers: np.ndarray | None = None

    def build(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, in_columns, raw = state
        self.numbers = _array(raw, kind, shape, "F" if in_columns else "C").numbers


def _array(raw: Any, kind: _Type, shape: tuple[int, ...], order: str) -> _Array:
    if order not in ("C", "F") or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise WrongPickleError(f"it has an array of the shape {shape!r:.{LETTERS}} in order {order!r:.9}")
    has_objects = kind.dtype.hasobject
    if isinstance(raw, list) != has_objects or len(raw) != math.prod(shape) * (
        1 if has_objects else kind.dtype.itemsize
    ):
        what = "objects" if isinstance(raw, list) else "bytes"
        raise WrongPickleError(f"it has {len(raw):,} {what} for an array of the shape {shape!r:.{LETTERS}}")
    array = _Array()
    if has_objects:  # whose list is in the order of rows, whatever the array's
        objects = np.empty(len(raw), object)
        for number, part in enumerate(raw):
            objects[number] = part
        array.numbers = objects.reshape(shape)
    else:
        array.numbers = np.frombuffer(raw, kind.dtype).reshape(shape, order=order)  # type: ignore[call-overload]
    return array


def _scalar(kind: _Type, raw: bytes) -> Any:
    number = _array(raw, kind, (), "C").numbers
    assert number is not None
    return number.item()


FUNCTIONS: dict[str, Callable[..., object]] = {
    "numpy.dtype": _Type,
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.numeric._frombuffer": _array,
    "_codecs.encode": lambda text, _: text.encode("latin1"),  # bytes in protocol 2, none of them as:
    "__builtin__.bytes": lambda: b"",
    "builtins.bytes": lambda: b"",
}
OBJECT_FUNCTIONS = {**FUNCTIONS, "numpy.dtype": _ObjectType}
KNOWN_NAMES = {*FUNCTIONS, "numpy.ndarray"}


class _Outer(list[Any]):
    """The outermost list, whose elements are handed on."""


class _Reader:
    def __init__(self, file: IO[bytes], *, hand_on: bool, functions: Mapping[str, Callable[..., object]]):
        self.file, self.functions = file, functions
        self.stack: list[Any] = []
        self.outer: list[Any] | None = _Outer() if hand_on else None
        self.marks: list[int] = []  # how many parts were on the stack
        self.kept: dict[int, Any] = {}
        self.puts = 0

    def run(self) -> Iterator[Any]:
        """Yield the elements of the outermost list or, if they are not to be handed on, the whole."""
        count = self.held = 0
        while True:
            count += 1
            if count > MOST_OPERATIONS:
                raise WrongPickleError(f"it has more parts than {MOST_OPERATIONS:,} that belong together")
            code = self._bytes(1)
            name = NAMES.get(code, repr(code))
            if name == "STOP":
                break
            self._do(name)
            if name in ("APPEND", "APPENDS") and self.stack[-1] is self.outer:
                yield from self.outer
                self.outer.clear()
                count = self.held = 0
        if len(self.stack) != 1 or self.marks or self.file.read(1):
            raise WrongPickleError("it does not end where it says")
        if self.outer is None:
            yield _plain(self.stack[0])
        elif self.stack[0] is not self.outer:
            raise WrongPickleError("it is no list")

    def _do(self, name: str) -> None:
        stack = self.stack
        if name in NUMBERS:
            stack.append(self._number(NUMBERS[name]))
        elif name in GETS:
            stack.append(self._kept(self._number(GETS[name])))
        elif name in PUTS:
            self._keep(self._number(PUTS[name]))
        elif name == "MEMOIZE":
            self._keep(self.puts)
        elif name in TEXTS:
            text = self._bytes(self._number(TEXTS[name]))
            stack.append(text.decode(errors="surrogatepass") if "UNICODE" in name else text)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in TUPLES:
            stack.append(tuple(self._pop(TUPLES[name])))
        elif name == "TUPLE":
            stack.append(tuple(self._since_mark()))
        elif name == "MARK":
            self.marks.append(len(stack))
        elif name == "EMPTY_LIST":
            stack.append([] if stack or self.outer is None else self.outer)
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name in ("APPEND", "APPENDS"):
            added = self._since_mark() if name == "APPENDS" else self._pop(1)
            self._last(list).extend(map(_plain, added))
        elif name in ("SETITEM", "SETITEMS"):
            self._set(self._since_mark() if name == "SETITEMS" else self._pop(2))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(self._name(name == "GLOBAL"))
        elif name == "REDUCE":
            function, arguments = self._pop(2)
            if not isinstance(function, _Name) or function not in self.functions or not isinstance(arguments, tuple):
                raise WrongPickleError(f"it calls {function!r:.{LETTERS}}")
            stack.append(self.functions[function](*arguments))
        elif name == "BUILD":
            (state,) = self._pop(1)
            self._last(_Type | _Array).build(state)
        elif name == "LONG1":
            stack.append(int.from_bytes(self._bytes(self._number("<B")), "little", signed=True))
        elif name in ("PROTO", "FRAME"):
            self._number("<B" if name == "PROTO" else "<Q")
        elif name in PROTOCOLS_OF_TEXT:
            line = f"it has a {name}, as of pickle's protocols 0 and 1, which are not read; write it anew in protocol 4"
            raise WrongPickleError(line, kind="pickle_protocol")
        else:
            raise WrongPickleError(f"it has a {name}, which no file of numbers has")

    def _bytes(self, count: int) -> bytes:
        self.held += count
        if not 0 <= self.held <= MOST_BYTES or count < 0:
            raise WrongPickleError(f"it has a part of {count:,} bytes, and {MOST_BYTES:,} at most belong together")
        content = self.file.read(count)
        if len(content) != count:
            raise WrongPickleError("it is cut off")
        return content

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _pop(self, count: int) -> list[Any]:
        if len(self.stack) - count < (self.marks[-1] if self.marks else 0):
            raise WrongPickleError("it takes a part that is not there")
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def _since_mark(self) -> list[Any]:
        if not self.marks:
            raise WrongPickleError("it takes parts that are not there")
        taken = self.stack[self.marks[-1] :]
        del self.stack[self.marks.pop() :]
        return taken

    def _last(self, kind: Any) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0) or not isinstance(self.stack[-1], kind):
            raise WrongPickleError("it adds to a part that takes none")
        return self.stack[-1]

    def _set(self, items: list[Any]) -> None:
        keys, values = items[::2], items[1::2]
        if len(keys) != len(values) or not all(type(key) in (str, bytes) for key in keys):
            raise WrongPickleError("it has a dictionary whose keys are no texts")
        self._last(dict).update(zip(keys, map(_plain, values), strict=True))

    def _name(self, written_out: bool) -> _Name:
        if written_out:
            parts = [self.file.readline(MOST_KEPT_LETTERS).rstrip(b"\n").decode("latin1") for _ in range(2)]
        else:
            parts = self._pop(2)
        name = ".".join(map(str, parts)).replace("numpy._core.", "numpy.core.")
        if name not in KNOWN_NAMES:
            raise WrongPickleError(f"it names {name!r:.{LETTERS}}, which no file of numbers does")
        return _Name(name)

    def _keep(self, number: int) -> None:
        """Keep the last part for further use, if it is one that may be used again."""
        self.puts += 1
        part = self._last(object)
        short = isinstance(part, str | bytes) and len(part) <= MOST_KEPT_LETTERS
        if (short or isinstance(part, _Type | int | float)) and len(self.kept) < MOST_KEPT:
            self.kept[number] = part
        else:
            self.kept.pop(number, None)

    def _kept(self, number: int) -> Any:
        if number not in self.kept:
            raise WrongPickleError("it uses a part twice, which no file of numbers does")
        return self.kept[number]


def _plain(part: Any) -> Any:
    """Return an element or a value: an array's numbers, and any other part as it is."""
    if not isinstance(part, _Array):
        return part
    if part.numbers is None:
        raise WrongPickleError("it has an array without numbers")
    return part.numbers


def _checked(
    file: IO[bytes], where: str, *, hand_on: bool, functions: Mapping[str, Callable[..., object]] = FUNCTIONS
) -> Iterator[Any]:
    try:
        yield from _Reader(file, hand_on=hand_on, functions=functions).run()
    except WrongPickleError as error:
        raise UserError(f"{where} is refused: {error}", kind=error.kind, key=where) from error
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"  # a forged pickle gives numpy any arguments
        raise UserError(f"{where} is refused: {reason:.{2 * LETTERS}}") from error


def unpickle(file: IO[bytes], where: str) -> Any:
    """Read a whole pickle; `where` is how the file is named in errors.

    Raises:
        UserError: for a pickle that names or does anything but make numbers, texts, lists, dictionaries and arrays.
    """
    (whole,) = _checked(file, where, hand_on=False)
    return whole


def unpickle_objects(file: IO[bytes], where: str) -> Any:
    """Read a whole pickle as `unpickle`, which may have arrays of texts and of objects too, as `np.save` writes them.

    Raises:
        UserError: as `unpickle`.
    """
    (whole,) = _checked(file, where, hand_on=False, functions=OBJECT_FUNCTIONS)
    return whole


def with_text_keys(part: Any, where: str) -> dict[str, Any]:
    """Return a dictionary with its keys as texts; those that Python 2 wrote are bytes.

    Raises:
        UserError: for what is no dictionary, and for a key that is there in both forms.
    """
    if not isinstance(part, dict):
        raise UserError(f"{where} is refused: it is no dictionary, but {type(part).__name__}", key=where)
    named = {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in part.items()}
    if len(named) != len(part):
        raise UserError(f"{where} is refused: it has a key as a text and as bytes", key=where)
    return named


def elements(file: IO[bytes], where: str) -> Iterator[Any]:
    """Yield the elements of a pickle that is a list; at most 1,000 of them are in memory. `where` as for `unpickle`.

    Raises:
        UserError: as `unpickle`; also for a pickle that is no list.
    """
    return _checked(file, where, hand_on=True)
