# Every target sets up what it needs in .venv, from the versions in requirements/dev.lock.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test browser java lint format docs bench bench-accuracy figures lock clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "bc3e needs Python 3.11 or newer; set PYTHON=python3.x"; exit 2; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --require-hashes -r requirements/dev.lock
	$(PY) -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## digits, drifted: classifiers, soft vote and BC3E in one table
	$(VENV)/bin/bc3e demo

test: $(READY) browser java ## all tests, on all cores
	$(PY) -m pytest -n auto --dist worksteal --ignore tests/federation_engine --ignore tests/engines/spark
	$(PY) -m pytest tests/federation_engine  # one federation of real processes at a time
	$(PY) -m pytest tests/engines/spark  # one Spark at a time

# The report is tested in a browser. Without one its tests are skipped, and with CI=true that is a failure.
browser:
	@command -v chromium >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium; \
	else \
		echo "No chromium on the PATH: the browser tests need it (Debian: apt-get install chromium)."; \
	fi

# Spark runs on Java; its tests fail without it.
java:
	@command -v java >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends openjdk-17-jre-headless; \
	else \
		echo "No java on the PATH: the tests of Spark need Java 17 (Debian: apt-get install openjdk-17-jre-headless)."; \
	fi

lint: $(READY) ## ruff and mypy --strict
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(READY) ## apply ruff's formatting and safe fixes
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

docs: $(READY) ## the documentation as a site in site/, every link checked
	@# not --quiet: mkdocs then counts no warning, and strict means nothing
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

bench: $(READY) ## speed and memory, as ratios of things run side by side
	$(PY) benchmarks/speed.py
	$(PY) benchmarks/adapt_speed.py
	$(PY) -m benchmarks.federation
	$(PY) -m benchmarks.federation_engine
	$(PY) -m benchmarks.kernel
	$(PY) -m benchmarks.peers
	$(PY) -m benchmarks.growth
	$(PY) -m benchmarks.soft_labels

bench-accuracy: $(READY) ## accuracy of every method on the development and check cases
	$(PY) -m benchmarks.accuracy.run

figures: $(READY) ## draw the pictures of the README and the documentation again
	$(PY) docs/figures/overview.py
	$(PY) docs/figures/trust.py
	$(PY) docs/figures/federation.py
	$(PY) docs/figures/report.py

lock: ## resolve requirements/dev.lock again
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet pip-tools
	CUSTOM_COMPILE_COMMAND='make lock' $(VENV)/bin/pip-compile --quiet --upgrade --extra dev --extra federated --extra docs --extra spark --generate-hashes --allow-unsafe --strip-extras \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements/dev.lock pyproject.toml

clean: ## remove the environment and every cache
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis site
