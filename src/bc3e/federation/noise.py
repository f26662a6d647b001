"""Labels that a site scrambles before the run, so that nothing it sends is certain.

Every hard label is replaced, with a given probability, by one drawn at random from all labels of its
column. The site does it once, with a secret of its own, and runs the protocol on what comes out. So
whatever anybody can work out, from any message, total, tendency or answer, is about scrambled labels;
noise on sums, by contrast, can be averaged out over sweeps if it is fresh, and cancels in differences
between sweeps if it is not.

With probability p and q labels to draw from, a label is kept with probability 1 - p + p/q and any other
is shown with p/q. That is randomized response, locally differentially private with
epsilon = log(1 + q (1 - p)/p).
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from bc3e.errors import InputError
from bc3e.federation.checkpoint import write_safely
from bc3e.federation.keys import derive, framed
from bc3e.federation.sites import SiteData


@dataclass(frozen=True)
class Noise:
    """How many labels each site scrambles before the run.

    Parameters
    ----------
    clusters, votes : float
        Share of the cluster labels, and of the votes, that are drawn anew: 0 to 1.

    Examples
    --------
    >>> Noise(clusters=0.5).epsilon("clusters", 4)
    1.6094379124341003
    """

    clusters: float = 0.0
    votes: float = 0.0

    def __post_init__(self) -> None:
        for kind in ("clusters", "votes"):
            share = getattr(self, kind)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= 1.0:
                raise InputError("noise", f"{share!r} for {kind}", "Pass a share from 0 to 1.")

    def __bool__(self) -> bool:
        return self.clusters > 0 or self.votes > 0

    def epsilon(self, kind: str, labels: int) -> float:
        """Local differential privacy of one label of a column with so many labels."""
        share = float(getattr(self, kind))
        return math.inf if share == 0 else math.log1p(labels * (1.0 - share) / share)


def scrambled(data: SiteData, noise: Noise, secret: bytes) -> SiteData:
    """A site's labels with noise; the same secret gives the same labels."""
    found = {
        kind: {
            name: _scrambled(data, kind, name, given, float(getattr(noise, kind)), secret)
            for name, given in getattr(data, kind).items()
        }
        for kind in ("votes", "clusters")
    }
    return replace(data, votes=found["votes"], clusters=found["clusters"])


def _scrambled(
    data: SiteData, kind: str, name: str, given: NDArray[Any], share: float, secret: bytes
) -> NDArray[Any]:
    if share == 0:
        return given
    if given.ndim == 2:
        raise InputError(
            "noise",
            "the column has scores, which noise on labels does not hide",
            "Pass hard labels, or no noise.",
            place=f"site {data.name!r}, {kind} {name!r}",
        )
    labels = data.n_classes if kind == "votes" else len(data.cluster_names[name])
    key = derive(secret, salt=b"bc3e noise", info=framed(kind.encode(), name.encode()))
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(16 * len(given)))
    words = np.frombuffer(stream, dtype="<u8").reshape(2, len(given))
    anew = (words[0] >> np.uint64(11)) * 2.0**-53 < share
    drawn = (words[1] % np.uint64(labels)).astype(given.dtype)
    return np.where(anew & (given >= 0), drawn, given)


def noise_secret(site: str, folder: Path | None) -> bytes:
    """A secret for the noise of a site, on the disk before its first use if the run can be resumed."""
    if folder is None:
        return secrets.token_bytes(32)
    path = folder / f"noise-{site}"
    if not path.exists():
        write_safely(path, secrets.token_bytes(32))
    return path.read_bytes()
