"""Sums that nobody can take apart: each site's part is hidden by masks that cancel in the total.

Every pair of sites in a sum derives the same keystream from its pair secret and the tag of the
sum; the one whose name sorts first adds it, the other subtracts it. A part alone, and any set of
parts that lacks a member, is uniformly random to whoever does not hold the missing keys.

Numbers travel as fixed point with `bits` binary digits after the point, in the ring of integers
modulo 2^64, where addition is exact and masks cancel to the last bit. So the total is off by at
most members * 2^-(bits+1), and what does not fit is refused, never clipped. `bits` is public and must
not depend on the data; per-object sums, which are small, can afford more than the default.

A tag masks once. If one keystream hid two different values, their difference would show; that
is why a site refuses a tag that it has used, or any that comes before the last one used in
the same group, and why the members of a group never change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from bc3e.federation.keys import KeyRefused, MaskingKey, SignedKey, derive, framed, pair_secret, verify
from bc3e.model.evidence import FloatArray

BITS = 30
MAX_BITS = 62
Words = NDArray[np.uint64]


class MaskingError(ValueError):
    """A sum that cannot be masked safely; the message names its kind, never a value."""


@dataclass(frozen=True)
class MaskTag:
    """What a masked sum is for; used once.

    Attributes
    ----------
    run : str
    kind : str
        Which sum: the name of a message kind.
    iteration, sweep, attempt : int
        When. A resumed run has a higher attempt.
    group : str
        Over which set of sites (and of objects or columns).
    """

    run: str
    kind: str
    iteration: int
    sweep: int
    attempt: int
    group: str

    @property
    def when(self) -> tuple[int, int, int]:
        """What must grow from one tag to the next of the same kind and group."""
        return self.attempt, self.iteration, self.sweep

    def pack(self) -> bytes:
        numbers = (str(number).encode() for number in self.when)
        return framed(self.run.encode(), self.kind.encode(), self.group.encode(), *numbers)


class Masker:
    """Masks the parts that one site adds to sums.

    Parameters
    ----------
    site : str
    run : str
    key : MaskingKey
        The site's own key of this run.
    peers : mapping from sites to SignedKey
    identities : mapping from sites to public Ed25519 keys
        Every peer's key is checked against them: see :func:`bc3e.federation.keys.verify`.
    allow_two : bool
        Let sums over two sites pass, although each of the two learns the other's part.

    Examples
    --------
    >>> import numpy as np
    >>> from bc3e.federation.keys import Identity
    >>> run, sites = "0" * 32, ["a", "b", "c"]
    >>> identities = {site: Identity.generate(site) for site in sites}
    >>> keys = {site: MaskingKey.generate() for site in sites}
    >>> signed = {site: identities[site].sign_key(keys[site], run) for site in sites}
    >>> public = {site: identities[site].public for site in sites}
    >>> maskers = [Masker(site, run, keys[site], signed, public) for site in sites]
    >>> tag = MaskTag(run, "votes", iteration=0, sweep=0, attempt=0, group="all")
    >>> unmask_sum([masker.mask(np.array([1.0, 0.25]), tag, sites) for masker in maskers]).tolist()
    [3.0, 0.75]
    """

    def __init__(
        self,
        site: str,
        run: str,
        key: MaskingKey,
        peers: Mapping[str, SignedKey],
        identities: Mapping[str, bytes],
        *,
        allow_two: bool = False,
    ) -> None:
        self.site, self.run, self.allow_two = site, run, allow_two
        self._secrets: dict[str, bytes] = {}
        seen = {key.public}
        for name, signed in peers.items():
            if name == site:
                continue
            if signed.site != name:
                raise KeyRefused(f"masking key of {name!r}: it belongs to {signed.site!r}.")
            if verify(signed, identities, run) in seen:
                raise KeyRefused(f"masking key of {name!r}: another site has the same.")
            seen.add(signed.public)
            self._secrets[name] = pair_secret(key, site, signed)
        self._attempt = 0
        self._last: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._groups: dict[str, tuple[str, ...]] = {}

    def mask(
        self, values: FloatArray, tag: MaskTag, members: Sequence[str], *, bits: int = BITS
    ) -> Words:
        """Hide the part that this site adds to a sum, or raise :class:`MaskingError`.

        Parameters
        ----------
        values : float array of any shape
            All members must give the same shape.
        tag : MaskTag
        members : sequence of str
            The sites in this sum, this one among them, sorted.
        bits : int
            Binary digits after the point; the same at all members and in :func:`unmask_sum`.
        """
        chosen = tuple(members)
        self._check_members(tag, chosen)
        self._check_tag(tag)
        words = _to_ring(np.asarray(values, dtype=np.float64), len(chosen), tag.kind, bits)
        self._attempt = tag.attempt
        self._last[tag.kind, tag.group] = tag.when
        self._groups[tag.group] = chosen
        context = framed(
            b"bc3e mask 1",
            tag.pack(),
            str(words.shape).encode(),
            str(bits).encode(),
            framed(*(name.encode() for name in chosen)),
        )
        for peer in chosen:
            if peer < self.site:
                words -= _keystream(self._secrets[peer], context, words.shape)
            elif peer > self.site:
                words += _keystream(self._secrets[peer], context, words.shape)
        return words

    def _check_members(self, tag: MaskTag, members: tuple[str, ...]) -> None:
        if list(members) != sorted(set(members)) or self.site not in members:
            raise MaskingError(
                f"sum {tag.kind!r}: members must be sorted, distinct, this site among them."
            )
        if len(members) < (2 if self.allow_two else 3):
            raise MaskingError(
                f"sum {tag.kind!r}: {len(members)} members. A sum over fewer than three sites shows "
                "a site's part to another; two are let through only with allow_two=True."
            )
        for name in members:
            if name != self.site and name not in self._secrets:
                raise MaskingError(f"sum {tag.kind!r}: there is no verified masking key of {name!r}.")
        if self._groups.get(tag.group, members) != members:
            raise MaskingError(
                f"sum {tag.kind!r}: the members of its group have changed. The same sum over other "
                "sites would reveal those left out."
            )

    def _check_tag(self, tag: MaskTag) -> None:
        if tag.run != self.run:
            raise MaskingError(f"sum {tag.kind!r}: its tag belongs to another run.")
        if tag.attempt < self._attempt:
            raise MaskingError(f"sum {tag.kind!r}: its tag belongs to an older attempt.")
        last = self._last.get((tag.kind, tag.group))
        if min(tag.when) < 0 or (last is not None and tag.when <= last):
            raise MaskingError(
                f"sum {tag.kind!r}: its tag was used before or is older than the last one."
            )

    def export_used(self) -> dict[str, Any]:
        """The tags used and the groups seen, as plain values for a checkpoint."""
        return {
            "attempt": self._attempt,
            "last": [[*where, *when] for where, when in sorted(self._last.items())],
            "groups": {group: list(names) for group, names in sorted(self._groups.items())},
        }

    def restore(self, used: Mapping[str, Any]) -> None:
        """Go on after a crash: from now on only attempts after the exported one are masked.

        What the site masked between the checkpoint and the crash is not known any more, so the
        whole attempt counts as used. The number of the new attempt must be on disk before
        its first sum is masked, or a second crash would forget it.
        """
        self._attempt = int(used["attempt"]) + 1
        self._last = {
            (str(kind), str(group)): (int(attempt), int(iteration), int(sweep))
            for kind, group, attempt, iteration, sweep in used["last"]
        }
        self._groups = {str(group): tuple(names) for group, names in used["groups"].items()}


def unmask_sum(parts: Sequence[Words], *, bits: int = BITS) -> FloatArray:
    """Total of the parts of all members; garbage if a member is missing."""
    if not parts or len({part.shape for part in parts}) != 1:
        raise MaskingError("parts of a sum: there must be some, all of the same shape.")
    if any(part.dtype != np.uint64 for part in parts):
        raise MaskingError("parts of a sum: they must be unsigned 64-bit words.")
    total = np.zeros(parts[0].shape, dtype=np.uint64)
    for part in parts:
        np.add(total, part, out=total)
    return np.ldexp(total.view(np.int64).astype(np.float64), -bits)


def _to_ring(values: FloatArray, members: int, kind: str, bits: int) -> Words:
    """Fixed point in the ring; no sum of `members` such numbers can wrap around."""
    if not 0 <= bits <= MAX_BITS:
        raise MaskingError(f"sum {kind!r}: {bits} binary digits after the point, not 0 to {MAX_BITS}.")
    from bc3e.federation.word_kernels import to_fixed_point  # compiled code is loaded on first use

    words = np.empty(values.shape, dtype=np.uint64)
    flat = np.ascontiguousarray(values).reshape(-1)
    if not to_fixed_point(flat, 2.0**bits, 2.0**63 / members, words.reshape(-1)):
        raise MaskingError(
            f"sum {kind!r}: a value is not finite or too large for {bits} binary digits after the "
            f"point and {members} members."
        )
    return words


def _keystream(secret: bytes, context: bytes, shape: tuple[int, ...]) -> Words:
    """As many words as the shape needs from ChaCha20 under a key of this pair, tag and group.

    The key is used for this one stream, so a constant nonce repeats nothing.
    """
    size = int(np.prod(shape, dtype=np.int64))
    key = derive(secret, salt=b"bc3e mask", info=context)
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * size))
    return np.frombuffer(stream, dtype="<u8").reshape(shape)
