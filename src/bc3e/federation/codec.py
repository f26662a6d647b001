"""Binary form of messages: encode, and a decode that trusts nothing.

The binary form is a fixed frame around a small msgpack header and the raw array bytes::

    "bc3e" | version, 1 byte | header length, 4 bytes | header | array bytes | digest, 32 bytes

Arrays stay outside msgpack, so that a hostile message cannot make the decoder build
more than a bounded header: every length and shape is checked against the limits of the
message's :class:`Kind` before an array is made. Nothing is ever unpickled. The same
message always has the same bytes. All integers of the frame and of arrays are little
endian.

The digest finds damage: it is the SHA-256 of frame, header and a 64-bit checksum of the array bytes,
which takes a seventh of the time that SHA-256 takes over them. It does not say who sent the message:
that is the transport's business.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgpack
import numpy as np

from bc3e.federation.envelope import Array, Kind, Message, MessageRefused

MAGIC, VERSION = b"bc3e", 2
DTYPES = {"float64": "<f8", "uint64": "<u8", "int64": "<i8", "uint8": "|u1"}
MAX_MESSAGE_BYTES = 1 << 30
MAX_HEADER_BYTES = 1 << 14
MAX_ENTRIES = 16  # arrays, and texts, in one message
MAX_DIMENSIONS = 4
MAX_TEXT_BYTES = 1024
MAX_COUNTER = 1 << 53
FRAME_BYTES, DIGEST_BYTES = len(MAGIC) + 1 + 4, 32
RUN_FORM = re.compile(r"[0-9a-f]{32}\Z")
ADDRESS_FORM = re.compile(r"[!-~]{1,128}\Z")


FIELDS = frozenset(f.name for f in fields(Message))
COUNTERS = ("iteration", "sweep", "attempt", "sequence")


def encode(message: Message) -> bytes:
    """The message as bytes; raises :class:`MessageRefused` if it can have no such form.

    Examples
    --------
    >>> import numpy as np
    >>> from bc3e.federation.envelope import ArraySpec
    >>> kinds = {"evidence": Kind({"s": ArraySpec("float64", (100, 5))})}
    >>> message = Message("0" * 32, "evidence", "client:a", "server", 1, 0, 0, 0, False,
    ...                   {"s": np.eye(2)})
    >>> decode(encode(message), kinds).arrays["s"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    payload, described = [], {}
    for name in sorted(message.arrays):
        array = np.asarray(message.arrays[name])
        if array.dtype.name not in DTYPES:
            raise MessageRefused("an array has a dtype that messages do not carry")
        if array.ndim > MAX_DIMENSIONS:
            raise MessageRefused("an array has more dimensions than messages carry")
        described[name] = [array.dtype.name, list(array.shape)]
        wire = np.asarray(array, dtype=DTYPES[array.dtype.name], order="C")
        payload.append(wire.reshape(-1).view(np.uint8))
    header = {name: getattr(message, name) for name in sorted(FIELDS)}
    header |= {"arrays": described, "text": dict(sorted(message.text.items()))}
    _check_envelope(header)
    packed = msgpack.packb(header)
    if len(packed) > MAX_HEADER_BYTES:
        raise MessageRefused("the header is longer than allowed")
    frame = MAGIC + bytes([VERSION]) + len(packed).to_bytes(4, "little")
    size = FRAME_BYTES + len(packed) + sum(octets.size for octets in payload) + DIGEST_BYTES
    if size > MAX_MESSAGE_BYTES:
        raise MessageRefused("the message is longer than allowed")
    file = io.BytesIO()  # hands its bytes out without a further copy
    for part in (frame, packed, *payload):
        file.write(part)
    with file.getbuffer() as body:
        found = digest(body, FRAME_BYTES + len(packed))
    file.write(found)
    return file.getvalue()


def digest(body: bytes | bytearray | memoryview, header_end: int) -> bytes:
    """What follows the body of a message."""
    view = memoryview(body)
    return hashlib.sha256(bytes(view[:header_end]) + checksum(view[header_end:])).digest()


def checksum(view: memoryview) -> bytes:
    """At most 15 bytes that change with any damage to some bytes, in place or out of place."""
    from bc3e.federation.word_kernels import mixed  # compiled code is loaded on first use

    whole = len(view) // 8 * 8
    words = np.frombuffer(view[:whole], dtype="<u8")
    words.flags.aligned = words.flags.writeable = False  # whatever they are: one compiled form
    return int(mixed(words, len(view))).to_bytes(8, "little") + bytes(view[whole:])


def decode(data: bytes, kinds: Mapping[str, Kind], *, max_bytes: int = MAX_MESSAGE_BYTES) -> Message:
    """The message in `data`, checked against its kind; else :class:`MessageRefused`."""
    if len(data) > max_bytes:
        raise MessageRefused("the message is longer than allowed")
    view = memoryview(data)
    header_end = _header_end(view)
    if digest(view[:-DIGEST_BYTES], header_end) != bytes(view[-DIGEST_BYTES:]):
        raise MessageRefused("the checksum does not match")
    header = _unpack(view[FRAME_BYTES:header_end])
    _check_envelope(header)
    kind = kinds.get(header["kind"])
    if kind is None:
        raise MessageRefused("the kind is unknown")
    _check_text(header["text"], kind)
    sizes = _check_shapes(header["arrays"], kind, header["masked"])
    payload = view[header_end:-DIGEST_BYTES]
    if sum(sizes.values()) != len(payload):
        raise MessageRefused("the array bytes do not fit the declared shapes")
    arrays = _read_arrays(payload, header["arrays"], sizes, kind)
    return Message(**{**header, "arrays": arrays})


def _header_end(view: memoryview) -> int:
    """Where the header ends, after checking the fixed frame."""
    if len(view) < FRAME_BYTES + DIGEST_BYTES:
        raise MessageRefused("the message is too short")
    if view[: len(MAGIC)] != MAGIC:
        raise MessageRefused("this is no message of this protocol")
    if view[len(MAGIC)] != VERSION:
        raise MessageRefused("the protocol version is another one")
    length = int.from_bytes(view[len(MAGIC) + 1 : FRAME_BYTES], "little")
    if length > MAX_HEADER_BYTES:
        raise MessageRefused("the header is longer than allowed")
    if FRAME_BYTES + length + DIGEST_BYTES > len(view):
        raise MessageRefused("the message is too short")
    return FRAME_BYTES + length


def _unpack(packed: memoryview) -> dict[str, Any]:
    """The header as plain values; msgpack is held to small lengths and to no extension types."""
    try:
        header = msgpack.unpackb(
            packed,
            raw=False,
            strict_map_key=True,
            object_pairs_hook=_without_repeats,
            max_str_len=MAX_TEXT_BYTES,
            max_bin_len=0,
            max_array_len=MAX_DIMENSIONS,
            max_map_len=max(len(FIELDS), MAX_ENTRIES),
            max_ext_len=0,
        )
    except MessageRefused:
        raise
    except Exception as error:  # msgpack raises many kinds on hostile bytes
        raise MessageRefused("the header cannot be read") from error
    if not isinstance(header, dict) or header.keys() != FIELDS:
        raise MessageRefused("the header does not have exactly the known fields")
    return header


def _without_repeats(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map of which no reader can take another value than we do."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MessageRefused("the header names a field twice")
    return found


def _check_envelope(header: Mapping[str, Any]) -> None:
    """What must hold for messages of every kind, sent or received."""
    if not _matches(RUN_FORM, header["run"]):
        raise MessageRefused("the run id is malformed")
    if not all(_matches(ADDRESS_FORM, header[name]) for name in ("kind", "sender", "recipient")):
        raise MessageRefused("the kind or an address is malformed")
    for name in COUNTERS:
        value = header[name]
        if type(value) is not int or not 0 <= value < MAX_COUNTER:
            raise MessageRefused(f"the {name} is no counter")
    if type(header["masked"]) is not bool:
        raise MessageRefused("the masked flag is malformed")
    arrays, text = header["arrays"], header["text"]
    if not (isinstance(arrays, dict) and isinstance(text, dict)):
        raise MessageRefused("the header has fields of a wrong type")
    if len(arrays) > MAX_ENTRIES or len(text) > MAX_ENTRIES:
        raise MessageRefused("the message has more parts than allowed")
    if not all(_matches(ADDRESS_FORM, name) for name in (*arrays, *text)):
        raise MessageRefused("the name of a part is malformed")
    if not all(_is_short_text(value) for value in text.values()):
        raise MessageRefused("a text is longer than allowed or no text")


def _is_short_text(value: object) -> bool:
    if type(value) is not str or len(value) > MAX_TEXT_BYTES:
        return False
    try:
        return len(value.encode()) <= MAX_TEXT_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8 form
        return False


def _matches(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.match(value) is not None


def _check_text(text: Mapping[str, str], kind: Kind) -> None:
    if text.keys() != kind.text.keys():
        raise MessageRefused("the texts are not those of the kind")
    for name, value in text.items():
        if len(value.encode()) > kind.text[name]:
            raise MessageRefused("a text is longer than its kind allows")


def _check_shapes(declared: Mapping[str, Any], kind: Kind, masked: bool) -> dict[str, int]:
    """Bytes of each declared array, once its dtype and shape are within the limits of the kind."""
    if not declared.keys() <= kind.arrays.keys():
        raise MessageRefused("an array is unknown to the kind")
    needed = {name for name, spec in kind.arrays.items() if not spec.optional}
    if not needed <= declared.keys():
        raise MessageRefused("an array of the kind is missing")
    sizes = {}
    for name, description in declared.items():
        spec = kind.arrays[name]
        if not (isinstance(description, list) and len(description) == 2):
            raise MessageRefused("an array is described wrongly")
        dtype, shape = description
        if dtype != ("uint64" if masked and spec.maskable else spec.dtype):
            raise MessageRefused("an array has a dtype that its kind does not allow")
        if not isinstance(shape, list) or len(shape) != len(spec.max_shape):
            raise MessageRefused("an array has another number of dimensions than its kind")
        for extent, limit in zip(shape, spec.max_shape, strict=True):
            if type(extent) is not int or not 0 <= extent <= limit:
                raise MessageRefused("an array is larger than its kind allows")
        sizes[name] = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    return sizes


def _read_arrays(
    payload: memoryview, declared: Mapping[str, Any], sizes: Mapping[str, int], kind: Kind
) -> dict[str, Array]:
    """Read-only arrays in native byte order."""
    arrays, at = {}, 0
    for name in sorted(declared):
        dtype, shape = declared[name]
        raw = np.frombuffer(payload[at : at + sizes[name]], dtype=DTYPES[dtype])
        array = raw.astype(dtype).reshape(shape)
        array.flags.writeable = False
        if dtype == "float64" and kind.arrays[name].finite and not np.isfinite(array).all():
            raise MessageRefused("an array has values that are not finite")
        arrays[name] = array
        at += sizes[name]
    return arrays
