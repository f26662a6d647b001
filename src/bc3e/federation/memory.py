"""All roles in this process: messages go from hand to hand, encoded all the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from bc3e.federation.host import Host, Parcel
from bc3e.federation.planning import SERVER
from bc3e.federation.roles import Letter
from bc3e.federation.server import Learned, Server

Choose = Callable[[int], int]  # which of so many senders' next messages is delivered


class MemoryTransport:
    """Delivers messages one at a time, in the order in which they were sent.

    Parameters
    ----------
    hosts : mapping from places to Host
    choose : callable, optional
        Delivers in another order: between two roles the order stays, otherwise anything goes, as
        between sites that work at the same time. For tests.
    """

    def __init__(self, hosts: Mapping[str, Host], choose: Choose | None = None) -> None:
        self.hosts = hosts
        self.home = {address: host for host in hosts.values() for address in host.roles}
        self.choose = choose
        self.queues: dict[tuple[int, str], deque[Parcel]] = {}
        self.queue: deque[Parcel] = deque()

    def run(self) -> Learned:
        """Start all roles and let the server drive until everybody is done."""
        main = self.home[SERVER]
        server = main.roles[SERVER]
        assert isinstance(server, Server)

        def send(letters: list[Letter]) -> None:
            self._take(main, main.send(letters))

        for host in self.hosts.values():
            self._take(host, host.start())
        learned = server.drive(send, self._deliver_one, lambda: main.keep(server))
        while self.queue or any(self.queues.values()):
            self._deliver_one()
        return learned

    def _take(self, sender: Host, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            if self.choose is None:
                self.queue.append(parcel)
            else:
                self.queues.setdefault((id(sender), parcel[0]), deque()).append(parcel)

    def _deliver_one(self) -> None:
        if self.choose is None:
            waiting = self.queue
        else:
            filled = [queue for queue in self.queues.values() if queue]
            waiting = filled[self.choose(len(filled))] if filled else deque()
        if not waiting:
            raise RuntimeError("the run waits for a message that nobody will send.")
        recipient, data = waiting.popleft()
        host = self.home[recipient]
        self._take(host, host.receive(data, recipient))
