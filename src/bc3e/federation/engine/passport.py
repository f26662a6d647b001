"""Who a site is: its certificate vouches for the key that signs its masking keys.

A site makes a fresh :class:`~bc3e.federation.keys.Identity` for every attempt of a run and signs its
public half with the private key of its certificate. Certificate, public half and signature are its
passport. Every other site checks it against the root certificate in its own start-up kit, so nobody
on the way (the server relays all calls) can put another key in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from bc3e.federation.keys import KeyRefused, framed

PADDING = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)


@dataclass(frozen=True)
class Passport:
    """What a site shows to the others."""

    site: str
    certificate: str
    public: bytes
    signature: bytes

    def to_plain(self) -> dict[str, str]:
        return {
            "site": self.site,
            "certificate": self.certificate,
            "public": self.public.hex(),
            "signature": self.signature.hex(),
        }

    @classmethod
    def from_plain(cls, told: Mapping[str, str]) -> Passport:
        try:
            public, signature = bytes.fromhex(told["public"]), bytes.fromhex(told["signature"])
            return cls(str(told["site"]), str(told["certificate"]), public, signature)
        except (KeyError, TypeError, ValueError) as error:
            raise KeyRefused("a passport cannot be read.") from error


def _statement(site: str, run: str, attempt: int, public: bytes) -> bytes:
    return framed(b"bc3e identity 1", run.encode(), str(attempt).encode(), site.encode(), public)


def issue(startup: Path, site: str, run: str, attempt: int, public: bytes) -> Passport:
    """The passport of a site, signed with the key of the certificate in its start-up kit."""
    private = serialization.load_pem_private_key((startup / "client.key").read_bytes(), password=None)
    if not isinstance(private, rsa.RSAPrivateKey):
        raise KeyRefused(f"key of {site!r}: the start-up kit holds no RSA key.")
    signature = private.sign(_statement(site, run, attempt, public), PADDING, hashes.SHA256())
    return Passport(site, (startup / "client.crt").read_text(), public, signature)


def check(passport: Passport, site: str, run: str, attempt: int, root: bytes) -> bytes:
    """Public identity key of a site, or :class:`KeyRefused`.

    Parameters
    ----------
    passport : Passport
    site : str
        Who it must belong to.
    run, attempt
        What it must have been made for.
    root : bytes
        The federation's root certificate (PEM), from the reader's own kit.
    """

    def refuse(reason: str) -> KeyRefused:
        return KeyRefused(f"passport of {site!r}: {reason}.")

    try:
        certificate = x509.load_pem_x509_certificate(passport.certificate.encode())
        issuer = x509.load_pem_x509_certificate(root)
    except ValueError as error:
        raise refuse("its certificate cannot be read") from error
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise refuse("its certificate was not issued by the root of this federation") from error
    now = datetime.now(UTC)
    for found in (certificate, issuer):
        if not found.not_valid_before_utc <= now <= found.not_valid_after_utc:
            raise refuse("a certificate has expired or is not valid yet")
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    if [name.value for name in names] != [site] or passport.site != site:
        raise refuse("its certificate is made out to another name")
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        raise refuse("its certificate holds no RSA key")
    try:
        statement = _statement(site, run, attempt, passport.public)
        key.verify(passport.signature, statement, PADDING, hashes.SHA256())
    except InvalidSignature as error:
        raise refuse("its identity key was not signed by this site for this run") from error
    return passport.public
