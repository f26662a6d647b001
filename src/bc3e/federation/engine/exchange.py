"""Letters between machines: numbered calls that may be repeated and are carried out once.

A call that was not answered in time may still be carried out, now or later. So calls from one
machine to another are numbered, the caller repeats a call until it is answered, and the one who is
called keeps its last answer: a repeated call gets that answer again, and an older one is refused. Behind
that every message passes the inbox of its role, which lets it in once and in order.

Machines that are busy say so. Only silence counts as absence, and absence ends the run: nothing
is ever summed over fewer machines.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgpack

from bc3e.federation.host import Host, Parcel
from bc3e.federation.processes import RunFailed, RunInterrupted

logger = logging.getLogger("bc3e.federation")

BUSY = b""  # the answer of a machine that is still at work: ask again
PAUSE = 0.3  # seconds between two tries of a call
# Machine that is called, what about, data, seconds to wait for the answer.
Call = Callable[[str, str, bytes, float], bytes]


class Unanswered(Exception):  # noqa: N818 - the name says what happened to the call
    """No answer in time; whether the call was carried out is not known."""


class CallRefused(RuntimeError):  # noqa: N818 - the name says what happened to the call
    """The other machine says no; the text says why and is fit for a log."""


@dataclass(frozen=True)
class Patience:
    """How long a machine waits.

    Attributes
    ----------
    answer : float
        Seconds until a call counts as not answered and is repeated.
    silence : float
        Seconds without any answer after which a machine counts as absent and the run stops.
    work : float
        Seconds that a machine may be busy with one call.
    """

    answer: float = 60.0
    silence: float = 300.0
    work: float = 7200.0


def insist(call: Call, node: str, topic: str, data: bytes, patience: Patience) -> bytes:
    """Call until there is an answer; a busy machine is asked again, a silent one is given up."""
    heard = began = time.monotonic()
    while True:
        try:
            answer = call(node, topic, data, patience.answer)
            if answer != BUSY:
                return answer
            heard = time.monotonic()
            if heard - began > patience.work:
                raise RunInterrupted(
                    f"{node} has been at work on one call for {patience.work:.0f} s; resume the run."
                )
        except Unanswered as silence:
            if time.monotonic() - heard > patience.silence:
                raise RunInterrupted(
                    f"{node} has not answered for {patience.silence:.0f} s. Nothing was summed without "
                    "it; when it is back, resume the run."
                ) from None
            logger.warning("%s did not answer a call (%s): it is repeated", node, silence)
        time.sleep(PAUSE)


def pack(attempt: int, number: int, parcels: Iterable[Parcel]) -> bytes:
    """A numbered batch of messages."""
    data: bytes = msgpack.packb([attempt, number, [[to, message] for to, message in parcels]])
    return data


def unpack(data: bytes) -> tuple[int, int, list[Parcel]]:
    """Attempt, number and messages of a batch, or :class:`CallRefused`."""
    try:
        attempt, number, parcels = msgpack.unpackb(data)
        return int(attempt), int(number), [(str(to), bytes(message)) for to, message in parcels]
    except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
        raise CallRefused("a batch of messages cannot be read") from error


class Exchange:
    """The hosts of one machine, and the ways to all others.

    Parameters
    ----------
    node : str
        Name of this machine: a site, or "server".
    hosts : sequence of Host
    homes : mapping from addresses to machines
    attempt : int
    call : callable
        Carries a call to another machine.
    patience : Patience
    failed : callable
        Told of an error on the way to another machine; called at most once per way.
    front : str, optional
        Address of a role that acts by itself: messages to it wait in :attr:`waiting`.
    """

    def __init__(
        self,
        node: str,
        hosts: Iterable[Host],
        homes: Mapping[str, str],
        attempt: int,
        call: Call,
        patience: Patience,
        failed: Callable[[Exception], None],
        front: str | None = None,
    ) -> None:
        self.node, self.homes, self.attempt, self.front = node, homes, attempt, front
        self.call, self.patience, self.failed = call, patience, failed
        self.local = {address: host for host in hosts for address in host.roles}
        nodes = set(homes.values())
        self.residents = {n: frozenset(a for a, home in homes.items() if home == n) for n in nodes}
        self.waiting: queue.SimpleQueue[tuple[bytes, str] | Exception] = queue.SimpleQueue()
        self.calls = self.bytes = 0  # made and answered by this machine
        self._lock = threading.Lock()
        self._answered: dict[str, tuple[int, bytes]] = {}
        self._open = True
        self._boxes: dict[str, queue.SimpleQueue[Parcel | None]] = {
            n: queue.SimpleQueue() for n in nodes - {node}
        }
        self._ways = [
            threading.Thread(target=self._carry, args=(n, box), name=f"to {n}", daemon=True)
            for n, box in self._boxes.items()
        ]
        self._unsent = 0
        self._sent = threading.Condition()
        for way in self._ways:
            way.start()

    def deliver(self, caller: str, data: bytes) -> bytes:
        """Carry out a numbered call: hand over its messages and answer with those for the caller."""
        attempt, number, parcels = unpack(data)
        if not self._lock.acquire(timeout=self.patience.answer / 3):
            return BUSY
        try:
            last, answer = self._answered.get(caller, (-1, b""))
            if attempt != self.attempt:
                raise self._refusal(caller, f"it belongs to attempt {attempt}, this is {self.attempt}")
            if number == last:
                logger.warning("call %d of %s came again: it has the same answer", number, caller)
                return answer
            if number != last + 1:
                seen = "it was seen before" if number < last else "an earlier one is missing"
                raise self._refusal(caller, seen)
            found: list[Parcel] = []
            for recipient, message in parcels:
                found += self._hand(recipient, message, caller)
            answer = pack(attempt, number, self._route(found, caller))
            self._answered[caller] = (number, answer)
            return answer
        finally:
            self._lock.release()

    def act(self, work: Callable[[], list[Parcel]]) -> None:
        """Let a host of this machine do something, and send its messages on their ways."""
        with self._lock:
            self._route(work())

    def take(self, parcels: list[Parcel], node: str) -> None:
        """Hand over messages that came from another machine in answer to a call."""
        with self._lock:
            found: list[Parcel] = []
            for recipient, message in parcels:
                found += self._hand(recipient, message, node)
            self._route(found)

    def start(self, caller: str, hosts: Iterable[Host]) -> list[Parcel]:
        """First messages of hosts; those for the caller are returned."""
        with self._lock:
            return self._route([parcel for host in hosts for parcel in host.start()], caller)

    def flush(self, seconds: float) -> None:
        """Wait until everything that was posted has been answered."""
        with self._sent:
            if not self._sent.wait_for(lambda: self._unsent == 0, seconds):
                raise RunInterrupted("messages are still on their way after the last iteration.")

    def close(self) -> None:
        """Send nothing any more."""
        self._open = False
        for box in self._boxes.values():
            box.put(None)

    def _refusal(self, caller: str, reason: str) -> CallRefused:
        logger.warning("call of %s refused: %s", caller, reason)
        return CallRefused(f"call refused: {reason}")

    def _hand(self, recipient: str, message: bytes, node: str) -> list[Parcel]:
        if recipient == self.front:
            self.waiting.put((message, node))
            return []
        host = self.local.get(recipient)
        if host is None:
            logger.warning("message refused: there is no role %s here", recipient)
            return []
        return host.receive(message, recipient, self.residents[node])

    def _route(self, parcels: list[Parcel], caller: str | None = None) -> list[Parcel]:
        """Put messages on their ways and return those for the caller, who waits for an answer."""
        back: list[Parcel] = []
        pending = deque(parcels)
        while pending:
            recipient, message = pending.popleft()
            node = self.homes[recipient]
            if node == self.node:
                pending.extend(self._hand(recipient, message, node))
            elif node == caller:
                back.append((recipient, message))
            else:
                with self._sent:
                    self._unsent += 1
                self._boxes[node].put((recipient, message))
        return back

    def _carry(self, node: str, box: queue.SimpleQueue[Parcel | None]) -> None:
        """Life of the thread that carries messages to one machine, one call at a time."""
        number = 0
        try:
            while (first := box.get()) is not None and self._open:
                parcels = [first]
                while not box.empty():
                    more = box.get()
                    if more is None:
                        return
                    parcels.append(more)
                batch = pack(self.attempt, number, parcels)
                answer = insist(self._guarded, node, "deliver", batch, self.patience)
                _, _, back = unpack(answer)
                self.take(back, node)
                number += 1
                self.calls, self.bytes = self.calls + 1, self.bytes + len(batch) + len(answer)
                with self._sent:
                    self._unsent -= len(parcels)
                    self._sent.notify_all()
        except Exception as error:
            if self._open:
                self.failed(error)

    def _guarded(self, node: str, topic: str, data: bytes, seconds: float) -> bytes:
        if not self._open:
            raise RunFailed("the run is over.")
        return self.call(node, topic, data, seconds)
