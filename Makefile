# A fresh machine needs Python 3.11 or newer and make, nothing else. Every install is stamped inside its environment,
# so that running a target again costs nothing until pyproject.toml changes.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV   ?= .venv
BENCH  ?= .venv-bench
FRAMES ?= .venv-frameworks
SDKS   ?= .venv-bench-sdks
AGENTS ?= .agents
NODE   ?= .node
CLIENTS ?= .clients
ARGS   ?=

# Many containers set it, and then each process of a test compiles everything again.
unexport PYTHONDONTWRITEBYTECODE

PIP = -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test pythons steady fuzz sweep soak frameworks frameworks-most frameworks-google agents node clients lint types types-mypy \
	types-pyright bench growth docs clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: $(VENV)/.stamp-core ## set up, and run an agent in three SDKs, with another provider behind each of them
	@$(VENV)/bin/python examples/demo.py $(ARGS)

test: $(VENV)/.stamp-dev ## set up and run the tests, on all cores and in random order (ARGS="-k sse" goes to pytest)
	$(VENV)/bin/python -m pytest -n auto --dist worksteal $(ARGS)

pythons: $(VENV)/.stamp-dev ## run the tests, in a fast form, on every other supported Python of this machine
	.ci/pythons $(ARGS)

steady: $(VENV)/.stamp-dev ## run the tests ten times with every core kept busy beside them (ARGS="3 -k sse")
	.ci/steady $(ARGS)

fuzz: $(VENV)/.stamp-dev ## run 200,000 mutants of requests, responses and streams (ARGS="--count 5000 --seed 7")
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz $(ARGS)

sweep: $(VENV)/.stamp-dev ## put every odd value at every kind of place, for every protocol (ARGS="--of 20")
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz.sweep $(ARGS)

soak: $(VENV)/.stamp-dev ## break gateways at every point of a background run, on both databases (ARGS="--count 20 --seed 2")
	PYTHONPATH=tests $(VENV)/bin/python -m gateway.soak $(ARGS)

frameworks: frameworks-most frameworks-google ## run agent frameworks of PyPI on other providers, in two environments (-j 2 halves it)

frameworks-most: $(FRAMES)/.stamp
	$(FRAMES)/bin/python -m pytest tests/frameworks $(ARGS)

frameworks-google: $(FRAMES)-google/.stamp
	$(FRAMES)-google/bin/python -m pytest tests/frameworks $(ARGS)

agents: $(VENV)/.stamp-dev $(AGENTS)/.stamp ## run agent CLIs of npm through the gateway on other providers (ARGS="--program codex --verbose")
	@PYTHONPATH=tests $(VENV)/bin/python -m agent_clis --binaries $(AGENTS)/node_modules/.bin $(ARGS)

node: $(VENV)/.stamp-dev $(NODE)/.stamp ## run SDKs and frameworks of npm through the gateway on every protocol (ARGS="--program ai_sdk")
	@PYTHONPATH=tests $(VENV)/bin/python -m node_clients --packages $(NODE) $(ARGS)

CLIENT_REQUIREMENTS = $(wildcard tests/python_clients/requirements/*.txt)
CLIENT_STAMPS = $(CLIENT_REQUIREMENTS:tests/python_clients/requirements/%.txt=$(CLIENTS)/%/.stamp)

clients: $(VENV)/.stamp-dev $(CLIENT_STAMPS) ## run Python frameworks of PyPI through the gateway on every protocol (ARGS="--program dspy_client")
	@PYTHONPATH=tests $(VENV)/bin/python -m python_clients --environments $(CLIENTS) $(ARGS)

lint: $(VENV)/.stamp-dev ## check style with ruff
	$(VENV)/bin/python -m ruff check --output-format concise . $(ARGS)

types: types-mypy types-pyright ## check types with mypy --strict, the examples with pyright too, and that all public types are complete

types-mypy: $(VENV)/.stamp-dev
	$(VENV)/bin/python -m mypy $(ARGS)

types-pyright: $(VENV)/.stamp-dev
	PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/python -m pyright --verifytypes unified_llm --ignoreexternal
	$(VENV)/bin/python -m pyright --pythonpath $(VENV)/bin/python

bench: $(BENCH)/.stamp $(SDKS)/.stamp ## measure against peers, in environments of their own; prints ratios
	$(BENCH)/bin/python benchmarks/run.py --sdks $(SDKS)/bin/python $(ARGS)

growth: $(VENV)/.stamp-core ## measure how the time of every operation grows with its input; prints exponents
	@$(VENV)/bin/python benchmarks/complexity.py $(ARGS)

docs: $(VENV)/.stamp-dev ## run every example and command in the docstrings and the pages
	$(VENV)/bin/python -m pytest -q tests/test_docs.py $(ARGS)

clean: ## remove environments, caches and builds
	rm -rf $(VENV) $(VENV)-3.* $(BENCH) $(SDKS) $(FRAMES) $(FRAMES)-google $(AGENTS) $(NODE) $(CLIENTS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find unified_llm adapters tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# `python -m venv` on an environment that is there leaves what is installed in it, so an interrupted set-up heals itself.
$(VENV)/bin/python $(BENCH)/bin/python $(SDKS)/bin/python $(FRAMES)/bin/python $(FRAMES)-google/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; set PYTHON=/path/to/python3"; exit 1; }
	@echo "Creating $(@D:/bin=) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(@D:/bin=)

$(VENV)/.stamp-core: pyproject.toml | $(VENV)/bin/python
	@echo "Installing unified-llm and the three official SDKs into $(VENV) (once)"
	@$(VENV)/bin/python $(PIP) -e ".[cli,openai,anthropic,google]"
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(VENV)/bin/python
	@echo "Installing unified-llm and what its tests need into $(VENV) (once; a minute or two)"
	@$(VENV)/bin/python $(PIP) -e ".[dev]"
	@touch $(VENV)/.stamp-core $@

$(BENCH)/.stamp: pyproject.toml benchmarks/requirements.txt | $(BENCH)/bin/python
	@echo "Installing unified-llm and the peers it is measured against into $(BENCH) (once)"
	@$(BENCH)/bin/python $(PIP) -e ".[cli,gateway,postgres]" -r benchmarks/requirements.txt
	@touch $@

$(SDKS)/.stamp: pyproject.toml benchmarks/requirements-sdks.txt | $(SDKS)/bin/python
	@echo "Installing unified-llm and the newest official SDKs into $(SDKS) (once)"
	@$(SDKS)/bin/python $(PIP) -e . -r benchmarks/requirements-sdks.txt
	@touch $@

# Two, because those of Google require an older SDK of Google than the rest. Most of what is installed is never imported.
$(FRAMES)/.stamp: pyproject.toml | $(FRAMES)/bin/python
	@echo "Installing unified-llm and agent frameworks into $(FRAMES) (once)"
	@$(FRAMES)/bin/python $(PIP) --no-compile -e ".[frameworks]"
	@touch $@

$(FRAMES)-google/.stamp: pyproject.toml | $(FRAMES)-google/bin/python
	@echo "Installing unified-llm and agent frameworks into $(FRAMES)-google (once)"
	@$(FRAMES)-google/bin/python $(PIP) --no-compile -e ".[frameworks-google]"
	@touch $@

# Without a lock file: npm leaves binaries for other platforms out of it, and then refuses it. Their versions are exact.
$(AGENTS)/.stamp: tests/agent_clis/package.json
	@command -v npm >/dev/null || { echo "npm (of Node.js 20 or newer) was not found"; exit 1; }
	@echo "Installing five agent CLIs into $(AGENTS) (once; 1.4 GB)"
	@mkdir -p $(@D) && cp $< $(@D) && cd $(@D) && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# With the Node.js that pyright brings: they require a newer one than some systems have.
$(NODE)/.stamp: tests/node_clients/package.json | $(VENV)/.stamp-dev
	@echo "Installing SDKs and frameworks of npm into $(NODE) (once)"
	@mkdir -p $(@D) && cp $< $(@D)
	@PYTHONPATH=tests $(VENV)/bin/python -m node_clients.runtime install --prefix $(@D) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# One environment for each framework: they require different versions of the same SDKs.
$(CLIENTS)/%/.stamp: tests/python_clients/requirements/%.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; set PYTHON=/path/to/python3"; exit 1; }
	@echo "Installing the frameworks of $< into $(@D) (once)"
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/python $(PIP) --no-compile -r $<
	@touch $@
