"""bc3e.compare on drifted product titles and on digits of another origin.

Reads the data from the directory in the environment variable BC3E_DATA. Run from
the repository's root:

    BC3E_DATA=... python -m benchmarks.rivals_on_real_data [myntra] [digits]

Every setting below was fixed before any target label was looked at; the target
labels are used for scoring and for the two references that say so.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.tree import DecisionTreeClassifier

import bc3e
from bc3e.experiments.data import read
from benchmarks.accuracy.tables import data_folder

N_CLUSTERINGS, N_COMPONENTS = 10, 50
SEED = 0


def clusterings(features: Any, n_classes: int) -> list[Any]:
    """k-means with one to three times as many clusters as classes, on random halves of the features."""
    rng = np.random.default_rng(SEED)
    sizes = np.linspace(n_classes, 3 * n_classes, N_CLUSTERINGS).astype(int)
    found = []
    for i, size in enumerate(sizes):
        half = rng.permutation(features.shape[1])[: features.shape[1] // 2]
        found.append(KMeans(int(size), n_init=1, random_state=i).fit_predict(features[:, half]))
    return found


def myntra() -> dict[str, Any]:
    """A k-NN of the titles up to 2011 meets those of 2012; classes with 20 titles by then."""
    data = read("myntra", data_folder()).to_pandas()
    source, target = data[data["year"] <= 2011], data[data["year"] == 2012]
    counts = source["label"].value_counts()
    frequent = counts[counts >= 20].index
    source, target = source[source["label"].isin(frequent)], target[target["label"].isin(frequent)]
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit(source["title"])
    neighbours = KNeighborsClassifier(10, metric="cosine").fit(
        words.transform(source["title"]), source["label"]
    )
    votes = [neighbours.predict_proba(words.transform(target["title"]))]
    terms = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(target["title"])
    shrink = make_pipeline(TruncatedSVD(2 * N_COMPONENTS, random_state=SEED), Normalizer(copy=False))
    return {
        "votes": votes,
        "clusters": clusterings(shrink.fit_transform(terms), len(frequent)),
        "truth": target["label"].to_numpy(dtype=object),
        "classes": neighbours.classes_.tolist(),
    }


def digits() -> dict[str, Any]:
    """A tree, a linear discriminant and a logistic regression of MNIST digits meet USPS digits."""
    data = read("mnist_usps", data_folder()).to_pandas()
    pixels = [name for name in data.columns if name.startswith("p")]
    source, target = data[data["domain"] == "mnist"], data[data["domain"] == "usps"]
    models = [
        DecisionTreeClassifier(random_state=SEED),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LogisticRegression(max_iter=1000),
    ]
    there, here = source[pixels].to_numpy(), target[pixels].to_numpy()
    votes = [model.fit(there, source["label"]).predict_proba(here) for model in models]
    return {
        "votes": votes,
        "clusters": clusterings(PCA(N_COMPONENTS, random_state=SEED).fit_transform(here), 10),
        "truth": target["label"].to_numpy(),
        "classes": models[0].classes_.tolist(),
    }


CASES = {"myntra": myntra, "digits": digits}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all by default")
    for name in parser.parse_args().cases or CASES:
        if name not in CASES:
            parser.error(f"unknown case {name!r}, known are {', '.join(CASES)}")
        print(name, "-", (CASES[name].__doc__ or "").strip())
        print(bc3e.compare(**CASES[name]()))


if __name__ == "__main__":
    main()
