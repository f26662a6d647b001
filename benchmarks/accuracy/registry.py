"""All cases of the harness, family by family."""

from __future__ import annotations

from functools import partial

from benchmarks.accuracy.specs import Spec, spec

TRIO = "tree lda knn"
PROBABILISTIC = "logreg gnb lda"
FIVE = "tree lda knn logreg gnb"


def _uci(family: str, population: str, feature: int) -> list[Spec]:
    """The same plan for each small two-class set; the target population has more of a feature."""
    case = partial(spec, family, source="uci", name=family)
    return [
        case("2%", TRIO, "kmeans:10", fraction=0.02),
        case("5%", TRIO, "kmeans:10", fraction=0.05),
        case("5%-five", FIVE, "mixed:15", fraction=0.05),
        case("10%", PROBABILISTIC, "spread:20", fraction=0.10),
        case("10%-hard", "tree! lda! knn!", "kmeans:10", fraction=0.10),
        case("20%-calibrated", "tree~ lda~ gnb~", "fine:10", fraction=0.20),
        case("5%-tree", "tree", "kmeans:5", fraction=0.05),
        case("10%-tiny", "logreg knn", "coarse:5", fraction=0.10, size=100),
        case(f"10%-{population}", TRIO, "kmeans:10", fraction=0.10, below=feature, tags="drift"),
        case("10%-mix", "forest logreg gnb", "subspace:20", fraction=0.10, reverse=True, tags="drift"),
    ]


def _pima() -> list[Spec]:
    case = partial(spec, "pima", source="uci", name="pima")
    return [
        *_uci("pima", "older", feature=7),
        case("random", TRIO, "random:10", fraction=0.05),
        case("nuisance", PROBABILISTIC, "nuisance:10", fraction=0.05),
        case("half-random", TRIO, "kmeans:10", fraction=0.05, spoil="half-random"),
        case("noise-hard", "tree! lda! knn!", "noise:10", fraction=0.10),
        case("misleading", PROBABILISTIC, "misleading:10", fraction=0.10),
    ]


def _german() -> list[Spec]:
    case = partial(spec, "german", source="uci", name="german")
    return [
        *_uci("german", "longer", feature=1),
        case("permuted", TRIO, "permuted:10", fraction=0.05),
        case("nuisance", FIVE, "nuisance:10", fraction=0.05),
        case("copied", TRIO, "kmeans:8", fraction=0.05, spoil="copied"),
        case("missing", FIVE, "kmeans:10", fraction=0.10, spoil="missing-clusters missing-votes"),
    ]


def _gas() -> list[Spec]:
    case = partial(spec, "gas", tags="drift")
    one, two = (1,), (1, 2)
    return [
        case("1-2", TRIO, "kmeans:10", train=one, target=2),
        case("1-3", "tree knn forest", "spread:15", train=one, target=3),
        case("1-4", TRIO, "kmeans:10", train=one, target=4),
        case("1-5", PROBABILISTIC, "mixed:10", train=one, target=5),
        case("1-6", FIVE, "fine:10", train=one, target=6, size=1500),
        case("1-8", "forest", "kmeans:5", train=one, target=8),
        case("1-9", "tree! lda! knn! logreg! gnb!", "subspace:20", train=one, target=9),
        case("12-3", PROBABILISTIC, "fine:10", train=two, target=3),
        case("12-4", "tree~ knn~ lda~", "kmeans:10", train=two, target=4),
        case("12-5", "forest lda", "linkage:9", train=two, target=5),
        case("12-6", TRIO, "kmeans:20", train=two, target=6),
        case("12-8", "forest! logreg knn", "mixed:15", train=two, target=8),
        case("12-9", "tree tree tree tree tree", "kmeans:10", train=two, target=9),
        case("12-6-tiny", TRIO, "kmeans:5", train=two, target=6, size=100),
        case("12-6-random", TRIO, "random:10", train=two, target=6, size=1000),
        case("1-2-noise", PROBABILISTIC, "noise:10", train=one, target=2),
        case("12-4-permuted", "tree! lda! knn!", "permuted:10", train=two, target=4),
        case("12-3-spoilt", TRIO, "kmeans:10", train=two, target=3, spoil="half-random constant"),
    ]


def _mnist_usps() -> list[Spec]:
    case = partial(spec, "mnist_usps", tags="drift")
    there, back = {"train": "mnist", "target": "usps"}, {"train": "usps", "target": "mnist"}
    return [
        case("there", TRIO, "kmeans:10", **there),
        case("back", TRIO, "kmeans:10", **back),
        case("there-fine", "knn logreg", "fine:15", **there, count=500),
        case("back-fine", "lda logreg forest knn", "mixed:20", **back),
        case("there-hard", "tree! lda! knn! forest!", "kmeans:10", **there),
        case("back-knn", "knn", "subspace:10", **back),
        case("there-calibrated", "lda~ knn~ gnb~", "spread:10", **there),
        case("there-tiny", "knn lda", "kmeans:5", **there, size=100),
        case("back-4-9", PROBABILISTIC, "kmeans:10", **back, digits=(4, 9)),
        case("there-3-5-8", TRIO, "spread:10", **there, digits=(3, 5, 8)),
        case("back-random", TRIO, "random:10", **back),
        case("there-permuted", "knn lda", "permuted:10", **there, size=800),
        case("back-noise", "knn", "noise:10", **back, size=1000),
        case("there-spoilt", TRIO, "kmeans:10", **there, spoil="random-copied"),
        case("back-missing", FIVE, "kmeans:12", **back, spoil="missing-clusters missing-votes"),
    ]


def _myntra() -> list[Spec]:
    case = partial(spec, "myntra", tags="drift")
    shoes = ("Casual Shoes", "Sports Shoes", "Formal Shoes", "Sandals", "Flip Flops", "Heels", "Flats")
    return [
        case("2012", "knn", "spread:10", years=(2012,), count=4000, size=3000, classes=38),
        case("2013", "knn nb logreg", "fine:10", years=(2013,), count=3000, size=3000, classes=38),
        case("2015", "nb sgd", "kmeans:10", years=(2015,), count=3000, size=2000, classes=38),
        case("2016", "knn nb sgd", "spread:15", years=(2016,), count=2000, size=2000, classes=20),
        case("2012-hard", "knn! nb! sgd!", "kmeans:10", years=(2012,), count=1000, size=2000, classes=20),
        case("2012-large", "nb sgd", "spread:10", years=(2012,), count=2000, size=10_000, classes=20),
        case("shoes", "knn nb logreg", "kmeans:10", years=(2012, 2015), count=300, size=2000, classes=shoes),
        case("shirts", "nb logreg", "fine:10", years=(2012,), count=60, size=1500, classes=("Shirts", "Tshirts", "Tops")),
        case("parts-tiny", "logreg~ nb~", "spread:5", years=(2013,), count=300, size=100, level="subCategory", classes=10),
        case("parts", "nb logreg knn", "mixed:15", years=(2012,), count=200, size=1500, level="subCategory", classes=10),
        case("2015-random", "knn nb", "random:10", years=(2015,), count=2000, size=1500, classes=20),
        case("2012-permuted", "nb sgd knn", "permuted:10", years=(2012,), count=1000, size=1500, classes=20),
        case("parts-random", "nb knn", "random:5", years=(2015,), count=200, size=100, level="subCategory", classes=10),
        case("2013-missing", "knn nb logreg", "spread:10", years=(2013,), count=1500, size=3000, classes=20,
             spoil="missing-clusters missing-votes"),
        case("2015-copied", "nb sgd", "spread:8", years=(2015,), count=2000, size=2000, classes=20, spoil="copied constant"),
    ]  # fmt: skip


def _newsgroups() -> list[Spec]:
    case = partial(spec, "newsgroups", tags="drift")
    pcs = ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware")
    sports = ("rec.sport.baseball", "rec.sport.hockey")
    faith = ("alt.atheism", "soc.religion.christian", "talk.religion.misc")
    politics = ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc")
    wheels = ("rec.autos", "rec.motorcycles")
    science = ("sci.crypt", "sci.electronics", "sci.med", "sci.space")
    twenty = "many-class drift"
    return [
        case("all", "nb logreg knn", "spread:10", count=3000, size=3000, tags=twenty),
        case("all-few", "nb sgd", "fine:10", count=600, size=2000, tags=twenty),
        case("all-hard", "nb! sgd! knn!", "kmeans:10", count=1000, size=2000, tags=twenty),
        case("all-subjects", "nb knn", "spread:10", count=4000, size=2000, subject_only=True, tags=twenty),
        case("pcs", "nb logreg knn", "kmeans:10", count=40, size=800, groups=pcs),
        case("sports", "nb logreg knn", "kmeans:10", count=20, size=800, groups=sports),
        case("faith", "nb~ logreg~ sgd~", "mixed:12", count=100, size=900, groups=faith),
        case("politics", "logreg", "spread:5", count=60, size=1000, groups=politics),
        case("wheels-tiny", "nb knn", "coarse:5", count=30, size=100, groups=wheels),
        case("science", "nb! logreg knn sgd", "subspace:20", count=60, size=1500, groups=science),
        case("all-random", "nb logreg", "random:10", count=1500, size=1500, tags=twenty),
        case("sports-permuted", "nb knn", "permuted:10", count=40, size=700, groups=sports),
        case("faith-noise", "nb! logreg! knn!", "noise:10", count=150, size=900, groups=faith),
        case("science-spoilt", "nb logreg", "kmeans:10", count=80, size=1200, groups=science, spoil="half-random"),
        case("pcs-copied", "nb knn", "kmeans:6", count=60, size=700, groups=pcs, spoil="random-copied"),
    ]  # fmt: skip


def _moons() -> list[Spec]:
    case = partial(spec, "moons")
    return [
        case("0.1", TRIO, "spread:10", noise=0.1, count=20, size=1000),
        case("0.2", TRIO, "fine:10", noise=0.2, count=20, size=1000),
        case("0.3", FIVE, "spread:20", noise=0.3, count=60, size=2000),
        case("0.15-linear", "lda logreg gnb", "linkage:9", noise=0.15, count=30, size=800),
        case("0.15-turned", TRIO, "fine:10", noise=0.15, count=100, size=1000, degrees=30, tags="drift"),
        case("0.2-hard", "tree! lda! knn!", "spread:10", noise=0.2, count=40, size=1000),
        case("0.1-tiny", "logreg knn", "kmeans:5", noise=0.1, count=10, size=100),
        case("0.2-large", TRIO, "spread:10", noise=0.2, count=50, size=10_000),
        case("0.2-tree", "tree", "mixed:10", noise=0.2, count=30, size=600),
        case("0.2-random", TRIO, "random:10", noise=0.2, count=40, size=1000),
        case("0.2-nuisance", "tree logreg gnb", "nuisance:10", noise=0.2, count=40, size=1000),
        case("0.3-permuted", "knn", "permuted:10", noise=0.3, count=60, size=1000),
        case("0.2-missing", TRIO, "fine:10", noise=0.2, count=30, size=1000, spoil="missing-clusters missing-votes"),
    ]  # fmt: skip


def _circles() -> list[Spec]:
    case = partial(spec, "circles")
    return [
        case("0.05", TRIO, "fine:10", noise=0.05, count=30, size=1000),
        case("0.1", TRIO, "spread:10", noise=0.1, count=60, size=1000),
        case("0.2", FIVE, "mixed:15", noise=0.2, count=100, size=1500),
        case("0.1-close", "tree knn gnb", "fine:10", noise=0.1, count=100, size=1000, factor=0.7),
        case("0.1-hard", "tree! knn! gnb!", "fine:10", noise=0.1, count=60, size=1000),
        case("0.1-calibrated", "tree~ knn~ lda~", "spread:10", noise=0.1, count=90, size=800),
        case("0.1-coarse", "tree lda logreg", "coarse:5", noise=0.1, count=60, size=1000),
        case("0.1-tiny", "tree knn", "kmeans:5", noise=0.1, count=40, size=100),
        case("0.1-noise", TRIO, "noise:10", noise=0.1, count=60, size=1000),
        case("0.2-random", "tree! knn! gnb!", "random:20", noise=0.2, count=60, size=1000),
        case("0.1-spoilt", TRIO, "fine:10", noise=0.1, count=60, size=1000, spoil="half-random copied"),
    ]


def _classification() -> list[Spec]:
    case = partial(spec, "classification")
    return [
        case("easy", TRIO, "kmeans:10", count=40, size=1000, separation=1.5),
        case("hard-shape", TRIO, "spread:10", count=60, size=1500, separation=0.7, per_class=3),
        case("five", FIVE, "kmeans:15", count=150, size=2000, classes=5, per_class=1),
        case("twenty", "lda knn forest", "spread:10", count=400, size=2000, classes=20, informative=8, per_class=1),
        case("moved", PROBABILISTIC, "kmeans:10", count=100, size=1000, move=0.5, classes=3, tags="drift"),
        case("rare", "logreg forest", "kmeans:10", count=100, size=2000, weights=(0.9, 0.1)),
        case("many-noise", TRIO, "subspace:20", count=80, size=1000, noise_features=30, classes=3),
        case("hard-votes", "tree! gnb! logreg!", "spread:10", count=80, size=1000, classes=4, per_class=1),
        case("single", "gnb", "kmeans:5", count=60, size=800, classes=3, per_class=1, separation=1.3),
        case("tiny", "lda tree", "kmeans:5", count=30, size=100),
        case("random", FIVE, "random:20", count=60, size=1000, classes=3, per_class=1),
        case("nuisance", "tree logreg knn", "nuisance:10", count=60, size=1000),
        case("misleading", "lda logreg knn", "misleading:10", count=100, size=1000, separation=1.3),
        case("spoilt", TRIO, "kmeans:10", count=60, size=1000, separation=1.5, spoil="constant random-copied"),
        case("missing", "tree! lda! knn!", "kmeans:10", count=60, size=1000, separation=1.5,
             spoil="missing-clusters missing-votes"),
    ]  # fmt: skip


def _heart() -> list[Spec]:
    case = partial(spec, "heart", source="uci", name="heart")
    return [
        *_uci("heart", "older", feature=0),
        case("random", TRIO, "random:10", fraction=0.10),
        case("noise-hard", "tree! lda! knn!", "noise:10", fraction=0.10),
        case("half-random", TRIO, "kmeans:10", fraction=0.10, spoil="half-random"),
    ]


def _breast_cancer() -> list[Spec]:
    case = partial(spec, "breast_cancer", source="uci", name="breast_cancer")
    return [
        *_uci("breast_cancer", "rougher", feature=1),
        case("nuisance", PROBABILISTIC, "nuisance:10", fraction=0.05),
        case("missing", FIVE, "kmeans:10", fraction=0.05, spoil="missing-clusters missing-votes"),
        case("permuted", "logreg knn", "permuted:10", fraction=0.05, size=100),
        case("misleading", PROBABILISTIC, "misleading:10", fraction=0.10),
    ]


def _wine() -> list[Spec]:
    case = partial(spec, "wine", source="uci", name="wine")
    return [
        case("6%", TRIO, "kmeans:10", fraction=0.06),
        case("10%", FIVE, "mixed:15", fraction=0.10),
        case("10%-fine", "tree knn", "fine:10", fraction=0.10),
        case("10%-hard", "tree! lda! knn!", "kmeans:10", fraction=0.10),
        case("20%-calibrated", "tree~ gnb~", "spread:10", fraction=0.20),
        case("6%-tree", "tree", "kmeans:5", fraction=0.06),
        case("6%-tiny", "stump gnb", "kmeans:5", fraction=0.06, size=100),
        case("10%-ash", TRIO, "kmeans:10", fraction=0.10, below=2, tags="drift"),
        case("permuted", TRIO, "permuted:10", fraction=0.10),
        case("random", "tree", "random:5", fraction=0.10),
    ]


def _iris() -> list[Spec]:
    case = partial(spec, "iris", source="uci", name="iris")
    return [
        case("6%", TRIO, "kmeans:10", fraction=0.06),
        case("10%", PROBABILISTIC, "mixed:10", fraction=0.10),
        case("20%", FIVE, "spread:15", fraction=0.20),
        case("6%-hard", "stump! knn! gnb!", "kmeans:10", fraction=0.06),
        case("10%-tiny", "stump", "coarse:5", fraction=0.10, size=100),
        case("random", "tree gnb", "random:10", fraction=0.10),
        case("nuisance", TRIO, "nuisance:10", fraction=0.10),
        case("copied", TRIO, "kmeans:5", fraction=0.10, spoil="copied"),
    ]


def _digits() -> list[Spec]:
    case = partial(spec, "digits")
    return [
        case("few", TRIO, "kmeans:10", count=60),
        case("shifted", TRIO, "kmeans:10", shift=(0, 1), tags="drift"),
        case("rotated-15", "knn logreg", "spread:10", angle=15, tags="drift"),
        case("rotated-30", FIVE, "fine:15", angle=30, tags="drift"),
        case("noised", "lda knn forest", "kmeans:10", noise=4.0, tags="drift"),
        case(
            "all-three", "lda! knn! tree!", "mixed:15", shift=(1, 0), angle=-15, noise=2.0, tags="drift"
        ),
        case("few-single", "gnb", "subspace:10", count=100, size=1000),
        case("calibrated", "tree~ gnb~ lda~", "spread:20", count=200, angle=20, tags="drift"),
        case("tiny", TRIO, "kmeans:5", count=100, size=100, noise=3.0, tags="drift"),
        case("mixed", "knn! logreg gnb tree!", "fine:10", count=150, shift=(0.6, 0.6), tags="drift"),
        case("random", TRIO, "random:10", angle=30, tags="drift"),
        case("nuisance", "tree logreg knn", "nuisance:10", count=100),
        case("permuted", "lda! knn! tree!", "permuted:10", count=100, shift=(0, 1), tags="drift"),
        case(
            "half-random", TRIO, "kmeans:10", count=100, shift=(0, 1), spoil="half-random", tags="drift"
        ),
        case("missing", FIVE, "kmeans:10", count=100, spoil="missing-clusters missing-votes"),
    ]


def _arxiv() -> list[Spec]:
    case = partial(spec, "arxiv", until=2012, tags="drift")
    language = ("cs.CL", "cs.IR", "cs.DL")
    theory = ("cs.DS", "cs.CC", "cs.DM", "cs.CG")
    systems = ("cs.NI", "cs.DC", "cs.CR", "cs.DB")
    return [
        case("2013", "nb sgd knn", "spread:10", years=(2013,), count=4000, size=3000, classes=20),
        case("2016", "nb logreg", "fine:10", years=(2016,), count=2000, size=2000, classes=20),
        case("2018", "nb! sgd! knn!", "kmeans:10", years=(2018,), count=3000, size=2000, classes=20),
        case("2018-large", "nb sgd", "spread:10", years=(2017, 2018), count=4000, size=10_000, classes=20),
        case("eight", "nb logreg knn", "mixed:15", years=(2015,), count=800, size=1500, classes=8),
        case("language", "nb logreg", "kmeans:10", years=(2016, 2017), count=150, size=1500, classes=language),
        case("theory", "nb", "spread:10", years=(2014,), count=400, size=1500, classes=theory),
        case("systems", "nb~ sgd~ logreg~", "subspace:20", years=(2018,), count=600, size=2000, classes=systems),
        case("two-tiny", "nb logreg", "kmeans:5", years=(2017,), count=60, size=100, classes=("cs.CL", "cs.IR")),
        case("2016-random", "nb sgd", "random:10", years=(2016,), count=2000, size=1500, classes=20),
        case("systems-permuted", "nb knn", "permuted:10", years=(2015,), count=300, size=1500, classes=systems),
        case("eight-noise", "nb! sgd! knn!", "noise:10", years=(2016,), count=800, size=1500, classes=8),
        case("2014-missing", "nb sgd knn", "spread:10", years=(2014,), count=2000, size=2000, classes=20,
             spoil="missing-clusters missing-votes"),
        case("eight-spoilt", "nb logreg", "kmeans:10", years=(2018,), count=800, size=1500, classes=8,
             spoil="half-random constant"),
    ]  # fmt: skip


def _pricerunner() -> list[Spec]:
    case = partial(spec, "pricerunner", tags="drift")
    cold = ("Fridge Freezers", "Fridges", "Freezers")
    kitchen = ("Dishwashers", "Washing Machines", "Microwaves", "Fridges")
    return [
        case("3", "nb logreg knn", "kmeans:10", train=(3,), count=300, size=3000),
        case("6", "nb sgd", "spread:10", train=(6,), count=600, size=3000),
        case("17-new", "knn nb", "fine:10", train=(17,), count=600, size=2000, new_products=True),
        case("3-17-hard", "nb! sgd! knn!", "spread:10", train=(3, 17), count=200, size=2000, new_products=True),
        case("cold", "nb logreg", "kmeans:10", train=(3, 6, 31), count=200, size=2000, classes=cold, new_products=True),
        case("cold-298", "nb~ logreg~ knn~", "mixed:15", train=(6, 31), target=(298,), count=300, size=800, classes=cold),
        case("kitchen", "knn", "spread:5", train=(7,), count=150, size=2000, classes=kitchen),
        case("tiny", "nb knn", "kmeans:5", train=(3,), count=100, size=100),
        case("large", "nb knn", "spread:10", train=(3, 7), count=300, size=10_000),
        case("cold-random", "nb logreg", "random:10", train=(3, 6), count=200, size=1500, classes=cold),
        case("permuted", "nb knn", "permuted:10", train=(3,), count=200, size=1500),
        case("random", "nb", "random:20", train=(3, 17), count=300, size=2000),
        case("copied", "nb sgd", "kmeans:8", train=(3, 6), count=300, size=2000, spoil="random-copied"),
        case("missing", "nb logreg knn", "spread:10", train=(3,), count=300, size=2000, new_products=True,
             spoil="missing-clusters missing-votes"),
    ]  # fmt: skip


def _blobs() -> list[Spec]:
    case = partial(spec, "blobs")
    return [
        case("apart", TRIO, "kmeans:10", spread=1.5, classes=3, count=15, size=600),
        case("close", TRIO, "kmeans:10", spread=3.5, classes=3, count=30, size=1000),
        case("overlapping", FIVE, "spread:20", spread=6.0, classes=4, count=60, size=1500),
        case("several", "tree lda logreg", "fine:10", spread=1.5, classes=3, per_class=4, count=60, size=1500),
        case("twenty", "lda gnb knn", "spread:10", spread=4.0, classes=20, features=6, count=100, size=2000),
        case("moved", PROBABILISTIC, "kmeans:10", spread=3.0, classes=5, features=4, move=3.0, count=60, size=1500, tags="drift"),
        case("hard", "tree! lda! knn!", "kmeans:10", spread=4.0, classes=4, features=3, count=40, size=1000),
        case("single", "stump", "kmeans:5", spread=2.0, classes=4, count=40, size=800),
        case("tiny", "tree gnb", "kmeans:5", spread=3.0, classes=3, count=12, size=100),
        case("noise", TRIO, "noise:10", spread=4.0, classes=3, count=30, size=1000),
        case("nuisance", "tree logreg gnb", "nuisance:10", spread=12.0, classes=2, features=5, count=30, size=1000),
        case("random", "gnb", "random:5", spread=4.0, classes=4, count=40, size=100),
        case("misleading", "lda logreg gnb", "misleading:10", spread=8.0, classes=3, features=4, count=60, size=1000),
        case("spoilt", TRIO, "kmeans:10", spread=4.0, classes=4, features=3, count=40, size=1000, spoil="half-random copied"),
    ]  # fmt: skip


def _quantiles() -> list[Spec]:
    case = partial(spec, "quantiles")
    return [
        case("two", TRIO, "kmeans:10", features=2, classes=3, count=60, size=1000),
        case("five", FIVE, "spread:15", features=5, classes=2, count=100, size=1500),
        case("fine", "tree knn gnb", "fine:10", features=3, classes=4, count=100, size=1500),
        case("hard", "tree! knn! gnb!", "spread:10", features=2, classes=3, count=60, size=1000),
        case("gnb", "gnb", "kmeans:10", features=4, classes=3, count=60, size=800),
        case("calibrated", "tree~ knn~ lda~", "mixed:10", features=2, classes=2, count=90, size=800),
        case("random", "tree gnb", "random:10", features=3, classes=3, count=100, size=1000),
        case("permuted", TRIO, "permuted:10", features=4, classes=2, count=100, size=1000),
        case("missing", FIVE, "kmeans:10", features=3, classes=3, count=100, size=1000, spoil="missing-clusters"),
    ]  # fmt: skip


def all_specs() -> list[Spec]:
    """Every spec, development families first."""
    return [
        *_pima(), *_german(), *_moons(), *_circles(), *_classification(),
        *_gas(), *_mnist_usps(), *_myntra(), *_newsgroups(),
        *_heart(), *_wine(), *_breast_cancer(), *_iris(), *_blobs(), *_quantiles(),
        *_digits(), *_arxiv(), *_pricerunner(),
    ]  # fmt: skip
