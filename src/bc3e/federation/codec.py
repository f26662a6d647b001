"""Binary form of messages: encode, and a decode that trusts nothing.

The binary form is a fixed frame around a small msgpack header and the raw array bytes::

    "bc3e" | version, 1 byte | header length, 4 bytes | header | array bytes | SHA-256 of all before

Arrays stay outside msgpack, so that a hostile message cannot make the decoder build
more than a bounded header: every length and shape is checked against the limits of the
message's :class:`Kind` before an array is made. Nothing is ever unpickled. The same
message always has the same bytes. All integers of the frame and of arrays are little
endian.

The checksum finds damage. It does not say who sent the message: that is the
transport's business.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgpack
import numpy as np

from bc3e.federation.envelope import Array, Kind, Message, MessageRefused

MAGIC, VERSION = b"bc3e", 1
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
        wire = np.asarray(array, dtype=DTYPES[array.dtype.name], order="C")
        described[name] = [array.dtype.name, list(array.shape)]
        payload.append(wire.tobytes())
    header = {name: getattr(message, name) for name in sorted(FIELDS)}
    header |= {"arrays": described, "text": dict(sorted(message.text.items()))}
    _check_envelope(header)
    packed = msgpack.packb(header)
    if len(packed) > MAX_HEADER_BYTES:
        raise MessageRefused("the header is longer than allowed")
    frame = MAGIC + bytes([VERSION]) + len(packed).to_bytes(4, "little")
    body = b"".join([frame, packed, *payload])
    if len(body) + DIGEST_BYTES > MAX_MESSAGE_BYTES:
        raise MessageRefused("the message is longer than allowed")
    return body + hashlib.sha256(body).digest()


def decode(data: bytes, kinds: Mapping[str, Kind], *, max_bytes: int = MAX_MESSAGE_BYTES) -> Message:
    """The message in `data`, checked against its kind; else :class:`MessageRefused`."""
    if len(data) > max_bytes:
        raise MessageRefused("the message is longer than allowed")
    view = memoryview(data)
    header_end = _header_end(view)
    if hashlib.sha256(view[:-DIGEST_BYTES]).digest() != bytes(view[-DIGEST_BYTES:]):
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
