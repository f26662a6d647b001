"""Keys of sites: who a site is, what it masks with in one run, and how it hides object ids.

- An :class:`Identity` (Ed25519) says who a site is. It lasts; its public half is known to the
  other sites beforehand.
- A :class:`MaskingKey` (X25519) serves one run. Its public half travels as a :class:`SignedKey`
  that binds it to site and run, so that nobody in between can put a key of their own there.
- A :func:`pair_secret` (X25519, HKDF-SHA256) is known to two sites alone. It depends on the run, both
  names and both public keys: two sites that disagree on any of these share no secret.
- :func:`hash_ids` (keyed BLAKE2b) hides object ids with a key that the sites share and the server
  does not have. Without a secret key anybody could hash all likely ids and compare.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from bc3e.errors import InputError, InputTypeError

KEY_BYTES = 32
ID_BYTES = 16


class KeyRefused(ValueError):  # noqa: N818 - the name says what happened to the key
    """A key that is missing, forged, misplaced or unprotected."""


def framed(*parts: bytes) -> bytes:
    """Parts joined so that no other parts give the same bytes."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def derive(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256: a fresh 32-byte key from a secret."""
    return HKDF(algorithm=hashes.SHA256(), length=KEY_BYTES, salt=salt, info=info).derive(secret)


@dataclass(frozen=True)
class Identity:
    """Ed25519 key pair of a site; the private half never shows in print or repr.

    Examples
    --------
    >>> a = Identity.generate("bank-a")
    >>> key = MaskingKey.generate()
    >>> signed = a.sign_key(key, run="0" * 32)
    >>> verify(signed, {"bank-a": a.public}, run="0" * 32) == key.public
    True
    """

    site: str
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def generate(cls, site: str) -> Identity:
        return cls(site, Ed25519PrivateKey.generate())

    @property
    def public(self) -> bytes:
        """The 32 bytes that the other sites need to know."""
        return self._private.public_key().public_bytes_raw()

    def sign_key(self, key: MaskingKey, run: str) -> SignedKey:
        """The public half of a masking key, signed for one run."""
        return SignedKey(
            self.site, run, key.public, self._private.sign(_statement(self.site, run, key.public))
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a new file that only its owner can read (mode 0600, PEM, not encrypted)."""
        data = self._private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def load(cls, path: str | os.PathLike[str], site: str) -> Identity:
        """Read a saved identity; a file that others can read or write is refused."""
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise KeyRefused(
                    f"identity file {Path(path).name!r}: others may read or write it "
                    f"(mode {stat.S_IMODE(mode):04o}). Make it private with chmod 600."
                )
            data = file.read(1 << 16)
        try:
            private = serialization.load_pem_private_key(data, password=None)
        except (ValueError, TypeError) as error:
            raise KeyRefused(f"identity file {Path(path).name!r}: it holds no usable key.") from error
        if not isinstance(private, Ed25519PrivateKey):
            raise KeyRefused(f"identity file {Path(path).name!r}: it holds no Ed25519 key.")
        return cls(site, private)


@dataclass(frozen=True)
class MaskingKey:
    """X25519 key pair of a site for one run."""

    _private: X25519PrivateKey = field(repr=False)

    @classmethod
    def generate(cls) -> MaskingKey:
        return cls(X25519PrivateKey.generate())

    @classmethod
    def restore(cls, private: bytes) -> MaskingKey:
        """The key that :meth:`export` wrote to a checkpoint."""
        return cls(X25519PrivateKey.from_private_bytes(private))

    def export(self) -> bytes:
        """The private half, for a checkpoint that nobody else can read."""
        return self._private.private_bytes_raw()

    @property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    def exchange(self, peer: bytes) -> bytes:
        """Diffie-Hellman with a peer's public half; refuses points that force a known secret."""
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(peer))
        except ValueError as error:
            raise KeyRefused("masking key: it is no valid X25519 key.") from error


@dataclass(frozen=True)
class SignedKey:
    """Public masking key of a site for one run, signed with the site's identity."""

    site: str
    run: str
    public: bytes
    signature: bytes


def _statement(site: str, run: str, public: bytes) -> bytes:
    return framed(b"bc3e masking key 1", run.encode(), site.encode(), public)


def verify(signed: SignedKey, identities: Mapping[str, bytes], run: str) -> bytes:
    """The public masking key, if its site signed it for this run; else :class:`KeyRefused`.

    Parameters
    ----------
    signed : SignedKey
    identities : mapping from sites to their public Ed25519 keys
    run : str
        A key signed for another run is refused: it would bring back that run's masks.
    """
    if signed.run != run:
        raise KeyRefused(f"masking key of {signed.site!r}: it was signed for another run.")
    if signed.site not in identities:
        raise KeyRefused(f"masking key of {signed.site!r}: the identity of this site is not known.")
    try:
        identity = Ed25519PublicKey.from_public_bytes(identities[signed.site])
        identity.verify(signed.signature, _statement(signed.site, signed.run, signed.public))
    except (InvalidSignature, ValueError) as error:
        raise KeyRefused(f"masking key of {signed.site!r}: the signature is not its own.") from error
    return signed.public


def pair_secret(own: MaskingKey, site: str, peer: SignedKey) -> bytes:
    """32 bytes that only this site and the peer know; `peer` must have been verified."""
    ends = sorted([(site.encode(), own.public), (peer.site.encode(), peer.public)])
    info = framed(b"bc3e pair secret 1", *ends[0], *ends[1])
    return derive(own.exchange(peer.public), salt=peer.run.encode(), info=info)


def new_id_key() -> bytes:
    """A fresh key for :func:`hash_ids`; hand it to the sites, never to the server."""
    return secrets.token_bytes(KEY_BYTES)


def hash_ids(ids: Iterable[object], key: bytes, context: str = "") -> NDArray[np.bytes_]:
    """Keyed hash of each object id: keyed BLAKE2b (RFC 7693) of 16 bytes.

    Parameters
    ----------
    ids : iterable of str, int or bytes
        1 and "1" are two different ids: sites must agree on the type.
    key : bytes
        32 bytes or more that the sites share and the server does not have.
    context : str
        Hashes of different contexts (such as run ids) cannot be linked with each other.

    Returns
    -------
    (N,) array of dtype S16
        ``.view(numpy.uint8).reshape(-1, 16)`` is its form for a message.

    Examples
    --------
    >>> hash_ids(["ann", "bob"], b"k" * 32).shape
    (2,)
    """
    if not isinstance(key, bytes) or len(key) < KEY_BYTES:
        raise InputError("key", "it has fewer than 32 bytes", "Take one from new_id_key().")
    derived = derive(key, salt=b"bc3e object ids 1", info=context.encode())
    digests = [
        blake2b(
            b"s" + value.encode("utf-8", "surrogatepass")
            if type(value) is str
            else _id_bytes(value, position),
            digest_size=ID_BYTES,
            key=derived,
        ).digest()
        for position, value in enumerate(ids)
    ]  # many ids are a long wait: the usual type is spared a call
    return np.frombuffer(b"".join(digests), dtype=f"S{ID_BYTES}")


def _id_bytes(value: object, position: int) -> bytes:
    """An id with its type, so that ids of different types differ."""
    if isinstance(value, str):  # numpy's own kind of text
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return b"i" + str(int(value)).encode()
    raise InputTypeError(
        "ids",
        f"an id of type {type(value).__name__}",
        "Use strings, whole numbers or bytes.",
        place=f"position {position}",
    )
