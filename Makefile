# Two commands do all: `make demo` opens the console on a cluster of its own, `make test` runs every check and test.

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
  $(shell $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))) python3)

DEV := .venv-dev
RUN := .venv-run
LAKE := .venv-lake
SITE := .venv-site
RELEASE_TOOLS := .venv-release
BIN := $(DEV)/bin
PYTEST := $(BIN)/python -m pytest
CHECKED := console widgets themes tests requirements bundle release hatch_build.py $(wildcard benchmarks screenshots)
TYPED := console widgets themes tests/support bundle release hatch_build.py $(wildcard benchmarks screenshots)
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-header $(if $(UPGRADE),--upgrade)

# Hundreds of tests start Python: each would compile all of this again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo demo-brokers demo-lake look-for-java test test-fast test-brokers test-lake test-long test-touched check docs site pictures format lock bundle release dev-venv run-venv lake-venv site-venv release-venv clean

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: run-venv  ## the console on an embedded cluster on a bad day; DEMO='--scenario large' and the like
	@$(RUN)/bin/python -m console demo $(DEMO)

demo-brokers: run-venv  ## the same on three real brokers with something in them (needs Java 17)
	@$(RUN)/bin/python -m tests.support.demo

demo-lake: lake-venv  ## a day of three clusters as history in .demo-lake, and the console on it
	@$(LAKE)/bin/python -m console lake demo --lake .demo-lake
	@KAC_LAKE=.demo-lake $(LAKE)/bin/python -m console demo --scenario fleet --still --state .demo-lake/demo/clusters.json

# With AGAIN=1, as in CI, what failed runs once more: a run does not end by a machine that stood still. What failed at
# first and then passes is printed; it is flaky, and has to be mended. Two processes suffice for a few tests, and each
# collects all of them.
define again
$(1)$(if $(AGAIN), || { echo '== what failed runs once more'; $(1) -n 2 --last-failed --last-failed-no-failures none; })
endef

# Much of their time tests wait, so there are more processes than processors. Of the slow ones those that share a
# cluster or a session of Spark run in one process, and what takes longest begins first (tests/support/real_clusters.py).
FAST := $(PYTEST) -n 5 --dist worksteal --ignore tests/broker -m 'not broker and not slow and not long'
SLOW := $(PYTEST) --slow-files -n 5 --dist loadgroup --no-loadscope-reorder --durations 25

# What the checks say is shown once the fast tests are through: mypy, and with ALL=1 the jars and class archives of
# brokers and Spark, take the time that they leave. With ALL=1, as in CI, what `test-brokers` and `test-lake` have runs
# beside the core: one part's waiting is another one's time.
test: look-for-java dev-venv  ## checks, fast tests, and on real brokers what everything else stands on (needs Java 17)
	@echo '== fast tests; beside them the checks$(if $(ALL), and what brokers and Spark start from)'
	@mkdir -p .cache; { $(MAKE) --no-print-directory check > .cache/check.log 2>&1; checked=$$?; \
	  $(if $(ALL),{ $(BIN)/python -m tests.support.kafka_jars && $(BIN)/python -m tests.support.kafka_classes; \
	    $(BIN)/python -m tests.support.spark_classes; } > .cache/archives.log 2>&1;) \
	  exit $$checked; } & checks=$$!; \
	  $(call again,$(FAST)); fast=$$?; wait $$checks; checked=$$?; cat .cache/check.log; \
	  failed=$$((fast ? fast : checked)); [ $$failed = 0 ] || echo 'core NOT RUN'; exit $$failed
	@echo '== $(if $(ALL),what needs real brokers or is slow,the core on real brokers)'
	@$(BIN)/python -m tests.support.kafka_jars || { echo 'core NOT RUN'; exit $${KAC_REQUIRE_BROKERS:-0}; }; \
	  $(if $(ALL),$(BIN)/python -m tests.support.kafka_classes || exit 1;) \
	  $(call again,$(SLOW) -m '$(if $(ALL),(broker or slow),core) and not long')

# Before anything takes time: an environment, and all of the fast tests. With ALL=1 the jars are fetched and the store
# of S3 is built while pip, which uses one processor, makes the environment.
look-for-java:
	@$(PYTHON) -m tests.support.kafka_jars --java
	@$(if $(ALL),mkdir -p .cache; { $(PYTHON) -m tests.support.kafka_jars; \
	  $(PYTHON) -m tests.support.s3_store; } > .cache/fetched.log 2>&1 &)

test-brokers: dev-venv  ## what else needs real brokers, or is slow
	@$(BIN)/python -m tests.support.kafka_jars
	@$(BIN)/python -m tests.support.kafka_classes
	$(call again,$(SLOW) -m '(broker or slow) and not long and not core' --ignore tests/lake --ignore tests/collecting)

test-lake: dev-venv  ## the lake, on Spark
	@$(BIN)/python -m tests.support.kafka_jars
	@$(BIN)/python -m tests.support.spark_classes
	$(call again,$(SLOW) -m '(broker or slow) and not long and not core' tests/lake tests/collecting)

test-long: dev-venv  ## what takes hours: every random run at its full length, every contract on real brokers
	@$(BIN)/python -m tests.support.kafka_jars
	$(BIN)/python -m tests.contract.recorded
	$(PYTEST) --timeout 7200 -m long --ignore tests/contract --durations 15
	$(PYTEST) --timeout 7200 -n 4 --hypothesis-profile explore -m 'hypothesis and not broker and not slow and not long'

test-fast: dev-venv  ## what needs no brokers and no patience
	$(FAST)

test-touched: dev-venv  ## a first answer: the fast tests of what is not committed yet; SINCE=COMMIT: of what changed since
	@$(BIN)/python -m tests.support.touched $(SINCE)

check: dev-venv  ## format, lint, types, and who may import whom
	@echo '== ruff, mypy, import-linter'
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/lint-imports

docs: dev-venv  ## the pages made from the registry of verbs, the keymap, the parsers and the tables
	$(BIN)/python -m console.cli.manual.pages commands > docs/commands.md
	$(BIN)/python -m console.tui.key_help > docs/keys.md
	$(BIN)/python -m console.cli.manual.pages man > docs/kac.1
	$(BIN)/python -m console.cli.manual.pages tables > docs/lake-tables.md
	$(BIN)/python -m console.cli.manual.pages lint > docs/lint.md
	$(BIN)/python -m console.cli.manual.pages causes > docs/causes.md

site: site-venv  ## the site made of docs/, in build/site; a link that leads nowhere, or to another host's script, fails
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet && echo build/site/index.html

pictures: dev-venv  ## the pictures in screenshots/, from the running console
	$(BIN)/python -m screenshots.take

format: dev-venv  ## put the code in its form
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

lock: dev-venv  ## lock what pyproject.toml asks for; UPGRADE=1 takes newer versions
	$(LOCK) pyproject.toml -o requirements/run.txt
	$(LOCK) pyproject.toml --extra lake -c requirements/run.txt -o requirements/lake.txt
	$(LOCK) $(addprefix --group ,build jars bundle site release) -c requirements/run.txt -o requirements/tools.txt
	$(LOCK) pyproject.toml --extra analyze --extra lake --extra mcp --extra notify --extra schemas --group dev -c requirements/run.txt -c requirements/lake.txt -o requirements/dev.txt

bundle: dev-venv  ## kac as one file for each architecture, in dist/ (needs Go); BUNDLE=--with-lake reads lakes
	$(BIN)/python -m bundle $(BUNDLE)

release: dev-venv release-venv site  ## all of a release in dist/, with sums, of a clean checkout; prints what to upload
	@$(BIN)/python -m release $(RELEASE)

dev-venv:
	@$(PYTHON) -m requirements.make_venv $(DEV) requirements/dev.txt

run-venv:
	@$(PYTHON) -m requirements.make_venv $(RUN) requirements/tools.txt:build requirements/run.txt

lake-venv:
	@$(PYTHON) -m requirements.make_venv $(LAKE) requirements/tools.txt:build requirements/lake.txt

site-venv:
	@$(PYTHON) -m requirements.make_venv $(SITE) requirements/tools.txt:build requirements/tools.txt:site

release-venv:
	@$(PYTHON) -m requirements.make_venv $(RELEASE_TOOLS) requirements/tools.txt:build requirements/tools.txt:release

clean:  ## remove what these commands made here (the jars' cache stays)
	rm -rf $(DEV) $(RUN) $(LAKE) $(SITE) $(RELEASE_TOOLS) .demo-lake build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
