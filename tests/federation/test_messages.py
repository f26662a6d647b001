"""Messages survive the wire unchanged; whatever is wrong with one, it is refused and nothing happens."""

from __future__ import annotations

import logging
import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import hypothesis.extra.numpy as hnp
import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bc3e.federation.codec import DIGEST_BYTES, FRAME_BYTES, MAX_HEADER_BYTES, MAX_TEXT_BYTES, digest
from bc3e.federation.messages import ArraySpec, Inbox, Kind, Message, MessageRefused, decode, encode

RUN, OTHER_RUN = "0123456789abcdef" * 2, "f" * 32
KINDS = {
    "evidence": Kind(
        {
            "s": ArraySpec("float64", (1000, 10), maskable=True),
            "extra": ArraySpec("float64", (10,), finite=False, optional=True),
        },
        {"note": 20},
    ),
    "ids": Kind({"hashes": ArraySpec("uint8", (1000, 16)), "rows": ArraySpec("int64", (1000,))}),
    "total": Kind({"bits": ArraySpec("uint64", ())}),
    "hello": Kind(),
}
ARRAYS = {"s": np.arange(6.0).reshape(3, 2)}


def message(**changes: Any) -> Message:
    base = Message(RUN, "evidence", "client:a", "server", 1, 2, 0, 0, False, ARRAYS, {"note": "hi"})
    return replace(base, **changes)


def same(a: Message, b: Message) -> bool:
    plain = [f.name for f in fields(Message) if f.name != "arrays"]
    return all(getattr(a, name) == getattr(b, name) for name in plain) and (
        a.arrays.keys() == b.arrays.keys()
        and all(
            a.arrays[name].dtype == b.arrays[name].dtype
            and a.arrays[name].shape == b.arrays[name].shape
            and a.arrays[name].tobytes() == b.arrays[name].tobytes()
            for name in a.arrays
        )
    )


def forge(header: Any, payload: bytes = b"", *, packed: bytes | None = None) -> bytes:
    """A message with a right checksum and whatever header."""
    packed = msgpack.packb(header) if packed is None else packed
    body = b"bc3e\x02" + len(packed).to_bytes(4, "little") + packed + payload
    return body + digest(body, FRAME_BYTES + len(packed))


def header(**changes: Any) -> dict[str, Any]:
    plain = {f.name: getattr(message(), f.name) for f in fields(Message)}
    plain["arrays"] = {"s": ["float64", [3, 2]]}
    return plain | changes


PAYLOAD = ARRAYS["s"].tobytes()

counters = st.integers(0, 2**53 - 1)
addresses = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=128)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    kind = draw(st.sampled_from(sorted(KINDS)))
    masked = draw(st.booleans())
    arrays = {}
    for name, spec in KINDS[kind].arrays.items():
        if spec.optional and draw(st.booleans()):
            continue
        dtype = "uint64" if masked and spec.maskable else spec.dtype
        shape = tuple(draw(st.integers(0, min(limit, 5))) for limit in spec.max_shape)
        elements = None
        if dtype == "float64":
            elements = st.floats(allow_nan=not spec.finite, allow_infinity=not spec.finite, width=64)
        arrays[name] = draw(hnp.arrays(dtype, shape, elements=elements))
    text = {
        name: draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=limit // 4))
        for name, limit in KINDS[kind].text.items()
    }
    run = draw(st.text("0123456789abcdef", min_size=32, max_size=32))
    return Message(
        run,
        kind,
        draw(addresses),
        draw(addresses),
        *(draw(counters) for _ in range(4)),
        masked,
        arrays,
        text,
    )


@given(messages())
@settings(deadline=None, max_examples=200)
def test_round_trip(sent: Message) -> None:
    data = encode(sent)
    got = decode(data, KINDS)
    assert same(sent, got)
    assert encode(got) == data


def test_equal_messages_have_equal_bytes_whatever_their_order_and_layout() -> None:
    hashes, rows = np.arange(32, dtype=np.uint8).reshape(2, 16), np.array([3, 4])
    one = message(kind="ids", text={}, arrays={"hashes": hashes, "rows": rows})
    two = replace(one, arrays={"rows": rows.astype(">i8"), "hashes": np.asfortranarray(hashes)})
    assert encode(one) == encode(two)


def test_decoded_arrays_cannot_be_changed() -> None:
    got = decode(encode(message()), KINDS).arrays["s"]
    with pytest.raises(ValueError, match="read-only"):
        got[0, 0] = 1.0


def test_every_cut_is_refused() -> None:
    data = encode(message())
    for end in range(len(data)):
        with pytest.raises(MessageRefused):
            decode(data[:end], KINDS)


def test_every_single_bit_flip_is_refused() -> None:
    data = encode(message())
    for position in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(MessageRefused):
            decode(bytes(damaged), KINDS)


def test_trailing_and_inserted_bytes_are_refused() -> None:
    data = encode(message())
    for wrong in (data + b"\0", b"\0" + data, data + data):
        with pytest.raises(MessageRefused):
            decode(wrong, KINDS)


MALFORMED = {
    "trailing payload": (forge(header(), PAYLOAD + b"\0"), "do not fit"),
    "payload too short": (forge(header(), PAYLOAD[:-8]), "do not fit"),
    "shape times itemsize": (forge(header(arrays={"s": ["float64", [4, 2]]}), PAYLOAD), "do not fit"),
    "huge declared shape": (forge(header(arrays={"s": ["float64", [2**50, 2]]}), PAYLOAD), "larger"),
    "negative extent": (forge(header(arrays={"s": ["float64", [-3, -2]]}), PAYLOAD), "larger"),
    "fractional extent": (forge(header(arrays={"s": ["float64", [3.0, 2]]}), PAYLOAD), "larger"),
    "boolean extent": (forge(header(arrays={"s": ["float64", [True, 6]]}), PAYLOAD), "larger"),
    "too many dimensions": (forge(header(arrays={"s": ["float64", [3, 2, 1]]}), PAYLOAD), "dimensions"),
    "far too many dimensions": (forge(header(arrays={"s": ["float64", [1] * 40]}), PAYLOAD), "cannot be read"),
    "shape is no list": (forge(header(arrays={"s": ["float64", 6]}), PAYLOAD), "dimensions"),
    "description is no pair": (forge(header(arrays={"s": ["float64"]}), PAYLOAD), "described"),
    "other dtype": (forge(header(arrays={"s": ["int64", [3, 2]]}), PAYLOAD), "dtype"),
    "object dtype": (forge(header(arrays={"s": ["O", [3, 2]]}), PAYLOAD), "dtype"),
    "dtype is no text": (forge(header(arrays={"s": [["float64"], [3, 2]]}), PAYLOAD), "dtype"),
    "plain numbers called masked": (forge(header(masked=True), PAYLOAD), "dtype"),
    "masked words called plain": (forge(header(arrays={"s": ["uint64", [3, 2]]}), PAYLOAD), "dtype"),
    "array unknown": (forge(header(arrays={"s": ["float64", [3, 2]], "t": ["float64", [0]]}), PAYLOAD), "unknown to"),
    "array missing": (forge(header(arrays={})), "missing"),
    "arrays no map": (forge(header(arrays=[1]), PAYLOAD), "wrong type"),
    "not a number": (forge(header(), np.full(6, np.nan).tobytes()), "not finite"),
    "infinite": (forge(header(), np.full(6, np.inf).tobytes()), "not finite"),
    "text too long for the kind": (forge(header(text={"note": "x" * 21}), PAYLOAD), "its kind"),
    "text too long in bytes": (forge(header(text={"note": "é" * 11}), PAYLOAD), "its kind"),
    "huge text": (forge(header(text={"note": "x" * (MAX_TEXT_BYTES + 1)}), PAYLOAD), "cannot be read"),
    "text unknown": (forge(header(text={"note": "", "other": ""}), PAYLOAD), "texts"),
    "text missing": (forge(header(text={}), PAYLOAD), "texts"),
    "text is a number": (forge(header(text={"note": 1}), PAYLOAD), "no text"),
    "text is no UTF-8": (forge(None, PAYLOAD, packed=msgpack.packb(header()).replace(b"\xa2hi", b"\xa2\xff\xfe")), "cannot be read"),
    "kind unknown": (forge(header(kind="bomb"), PAYLOAD), "kind is unknown"),
    "kind is a number": (forge(header(kind=3), PAYLOAD), "malformed"),
    "field unknown": (forge(header(surprise=1), PAYLOAD), "known fields"),
    "field missing": (forge({k: v for k, v in header().items() if k != "sweep"}, PAYLOAD), "known fields"),
    "field twice": (forge(None, packed=b"\x82\xa1a\x01\xa1a\x02"), "twice"),
    "keys are numbers": (forge(None, packed=b"\x81\x01\x02"), "cannot be read"),
    "too many entries": (forge(header(text={str(i): "" for i in range(17)}), PAYLOAD), "cannot be read"),
    "header no map": (forge([1, 2]), "known fields"),
    "header empty": (forge(None, packed=b""), "cannot be read"),
    "header has a tail": (forge(None, PAYLOAD, packed=msgpack.packb(header()) + b"\x01"), "cannot be read"),
    "array length bomb": (forge(None, packed=b"\xdd\xff\xff\xff\xff"), "cannot be read"),
    "map length bomb": (forge(None, packed=b"\xdf\xff\xff\xff\xff"), "cannot be read"),
    "text length bomb": (forge(None, packed=b"\xdb\xff\xff\xff\xff"), "cannot be read"),
    "bytes length bomb": (forge(None, packed=b"\xc6\xff\xff\xff\xff"), "cannot be read"),
    "nesting bomb": (forge(None, packed=b"\x91" * MAX_HEADER_BYTES), "cannot be read"),
    "wide nesting bomb": (forge(None, packed=b"\x94" * 400 + b"\x90" * 15000), "cannot be read"),
    "extension type": (forge(header(text=msgpack.ExtType(5, b"x")), PAYLOAD), "cannot be read"),
    "timestamp": (forge(header(sweep=msgpack.Timestamp(1, 1)), PAYLOAD), "cannot be read"),
    "run too short": (forge(header(run="ab"), PAYLOAD), "run id"),
    "run is bytes": (forge(header(run=b"0" * 32), PAYLOAD), "cannot be read"),
    "address with a line break": (forge(header(sender="a\nERROR forged line"), PAYLOAD), "address"),
    "address empty": (forge(header(recipient=""), PAYLOAD), "address"),
    "part name malformed": (forge(header(text={"a b": ""}), PAYLOAD), "name of a part"),
    "counter negative": (forge(header(iteration=-1), PAYLOAD), "no counter"),
    "counter true": (forge(header(sequence=True), PAYLOAD), "no counter"),
    "counter fractional": (forge(header(sweep=1.5), PAYLOAD), "no counter"),
    "counter huge": (forge(header(attempt=2**60), PAYLOAD), "no counter"),
    "masked is a number": (forge(header(masked=0), PAYLOAD), "flag"),
    "other version": (b"bc3e\x01" + encode(message())[5:], "version"),
    "other protocol": (b"POST / HTTP/1.1\r\n\r\n" + bytes(64), "no message"),
    "pickle": (pickle.dumps(message()), "no message"),
    "empty": (b"", "too short"),
    "header longer than the message": (b"bc3e\x02" + (16000).to_bytes(4, "little") + bytes(64), "too short"),
    "header length 4 GB": (b"bc3e\x02\xff\xff\xff\xff" + bytes(64), "longer than allowed"),
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_is_refused_with_a_reason_and_without_memory(case: str) -> None:
    data, reason = MALFORMED[case]
    tracemalloc.start()
    try:
        with pytest.raises(MessageRefused, match=reason) as caught:
            decode(data, KINDS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (2 << 20) + 3 * len(data)
    assert caught.value.reason == str(caught.value)


def test_longer_than_the_limit_is_refused_unread() -> None:
    data = encode(message())
    assert same(decode(data, KINDS, max_bytes=len(data)), message())
    with pytest.raises(MessageRefused, match="longer than allowed"):
        decode(data, KINDS, max_bytes=len(data) - 1)


def test_infinite_values_pass_where_the_kind_allows_them() -> None:
    sent = message(arrays=ARRAYS | {"extra": np.array([np.inf, np.nan])})
    assert same(decode(encode(sent), KINDS), sent)


@given(st.data())
@settings(deadline=None, max_examples=500)
def test_damage_with_a_right_checksum_is_refused_or_harmless(data: st.DataObject) -> None:
    body = bytearray(encode(message())[:-DIGEST_BYTES])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at] = data.draw(st.integers(0, 255))
    end = FRAME_BYTES + int.from_bytes(body[5:FRAME_BYTES], "little")
    forged = bytes(body) + digest(body, min(end, len(body)))
    try:
        got = decode(forged, KINDS)
    except MessageRefused:
        return
    assert got.kind in KINDS
    assert got.arrays["s"].nbytes == len(PAYLOAD)
    assert np.isfinite(got.arrays["s"]).all()


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_changed_and_exchanged_bytes_are_found(data: st.DataObject) -> None:
    sent = encode(message(arrays={"s": np.arange(40.0).reshape(20, 2)}))
    first, last = (data.draw(st.integers(0, len(sent) - 9)) for _ in range(2))
    damaged = bytearray(sent)
    damaged[first : first + 8], damaged[last : last + 8] = sent[last : last + 8], sent[first : first + 8]
    if damaged == sent:
        damaged[first] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(MessageRefused):
        decode(bytes(damaged), KINDS)


@given(st.binary(max_size=200))
def test_random_headers_are_refused(packed: bytes) -> None:
    with pytest.raises(MessageRefused):
        decode(forge(None, packed=packed), KINDS)


UNSENDABLE = {
    "object array": {"arrays": {"s": np.array([[None]])}},
    "text array": {"arrays": {"s": np.array([["a"]])}},
    "small floats": {"arrays": {"s": np.zeros((1, 1), dtype=np.float32)}},
    "complex": {"arrays": {"s": np.zeros((1, 1), dtype=complex)}},
    "five dimensions": {"arrays": {"s": np.zeros((1, 1, 1, 1, 1))}},
    "numpy counter": {"iteration": np.int64(1)},
    "long text": {"text": {"note": "x" * (MAX_TEXT_BYTES + 1)}},
    "broken text": {"text": {"note": "\ud800"}},
    "text is bytes": {"text": {"note": b"x"}},
    "much text": {"text": {str(i): "x" * 1024 for i in range(16)}},
    "many parts": {"text": {str(i): "" for i in range(17)}},
    "run id": {"run": "G" * 32},
    "address": {"sender": "two words"},
}


@pytest.mark.parametrize("case", UNSENDABLE)
def test_what_cannot_be_received_cannot_be_sent(case: str) -> None:
    with pytest.raises(MessageRefused):
        encode(message(**UNSENDABLE[case]))


# ---- Inbox


@pytest.fixture
def inbox() -> Inbox:
    return Inbox("server", RUN, KINDS, ["client:a", "client:b"])


def sent(sequence: int, **changes: Any) -> bytes:
    return encode(message(sequence=sequence, **changes))


def test_messages_in_order_from_two_senders(inbox: Inbox) -> None:
    for sequence in range(3):
        for sender in ("client:b", "client:a"):
            assert inbox.accept(sent(sequence, sender=sender)).sequence == sequence


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "replay": (lambda: sent(1), "seen before"),
    "replay of an old one": (lambda: sent(0), "seen before"),
    "other values under a used number": (lambda: sent(1, arrays={"s": np.ones((1, 1))}), "seen before"),
    "out of order": (lambda: sent(3), "out of order"),
    "other sender starts late": (lambda: sent(1, sender="client:b"), "out of order"),
    "later attempt starts late": (lambda: sent(1, attempt=5), "out of order"),
    "foreign run": (lambda: sent(2, run=OTHER_RUN), "another run"),
    "wrong recipient": (lambda: sent(2, recipient="client:b"), "another recipient"),
    "unknown sender": (lambda: sent(0, sender="mallory"), "sender is unknown"),
    "unknown kind": (lambda: sent(2, kind="bomb"), "kind is unknown"),
    "older attempt": (lambda: sent(2, attempt=3), "older attempt"),
    "older attempt, from the start": (lambda: sent(0, attempt=3), "older attempt"),
    "damaged": (lambda: sent(2)[:-1] + b"x", "checksum"),
    "cut": (lambda: sent(2)[:40], "too short"),
    "too long": (lambda: sent(2) + bytes(5000), "longer than allowed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_one_line_in_the_log_and_no_change(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox("server", RUN, KINDS, ["client:a", "client:b"], max_bytes=2000)
    inbox.require_attempt(4)
    secret = {"arrays": {"s": np.full((1, 1), 987654.321)}, "text": {"note": "id-4711"}}
    inbox.accept(sent(0, attempt=4, **secret))
    inbox.accept(sent(1, attempt=4, **secret))
    make, reason = REFUSED[case]
    data = make()
    if "attempt" not in case and len(data) < 2000 and case not in ("damaged", "cut"):
        data = encode(replace(decode(data, KINDS | {"bomb": KINDS["evidence"]}), attempt=4))
    before = inbox.export()
    with caplog.at_level(logging.DEBUG), pytest.raises(MessageRefused, match=reason):
        inbox.accept(data)
    assert inbox.export() == before
    assert len(caplog.records) == 1
    line = caplog.records[0].getMessage()
    assert line == f"message to server refused: {_reason(inbox, data)}"
    assert not any(word in line for word in ("987654", "4711", "mallory", "bomb"))
    inbox.accept(sent(2, attempt=4))  # the right next message still comes in


def _reason(inbox: Inbox, data: bytes) -> str:
    with pytest.raises(MessageRefused) as caught:
        inbox.accept(data)
    return caught.value.reason


def test_a_later_attempt_begins_again(inbox: Inbox) -> None:
    inbox.accept(sent(0))
    inbox.accept(sent(1))
    inbox.accept(sent(0, attempt=1))
    inbox.accept(sent(1, attempt=1))
    with pytest.raises(MessageRefused, match="older attempt"):
        inbox.accept(sent(2))
    inbox.accept(sent(0, sender="client:b"))  # this one does not know of the new attempt yet
    inbox.require_attempt(1)
    with pytest.raises(MessageRefused, match="older attempt"):
        inbox.accept(sent(1, sender="client:b"))
    inbox.accept(sent(0, sender="client:b", attempt=1))


def test_the_state_survives_a_restart(inbox: Inbox) -> None:
    inbox.accept(sent(0))
    inbox.require_attempt(0)
    saved = msgpack.unpackb(msgpack.packb(inbox.export()))
    fresh = Inbox("server", RUN, KINDS, ["client:a", "client:b"])
    fresh.restore(saved)
    assert fresh.export() == inbox.export()
    with pytest.raises(MessageRefused, match="seen before"):
        fresh.accept(sent(0))
    fresh.accept(sent(1))


def test_frame_sizes_are_what_the_module_says() -> None:
    data = encode(message(kind="hello", arrays={}, text={}))
    assert data[:4] == b"bc3e"
    assert data[4] == 2
    assert len(data) == FRAME_BYTES + int.from_bytes(data[5:9], "little") + DIGEST_BYTES
