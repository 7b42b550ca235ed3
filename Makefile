# Every target sets up what it needs in .venv, from PyPI; a second run starts at once.
# Needs python3 >= 3.11 with venv, a C compiler and make. No root, no GPU, no CUDA toolkit.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# The core for this machine's processor, as setup.py chooses it.
FLAGS := $(filter avx2 fma bmi1 bmi2 abm f16c,$(shell grep -m1 '^flags' /proc/cpuinfo 2>/dev/null))
LIBRARY := grader/simulator/$(if $(filter 6,$(words $(FLAGS))),_core_v3,_core).so
# Labs and mypy run beside them, so that a core is seldom idle; each process finds all tests and has
# templates, servers and caches of its own, ten seconds of processor time.
PROCESSES ?= $(shell echo $$(($$(nproc) + 1)))
CORE := $(wildcard $(foreach depth,* */* */*/*,$(addprefix grader/simulator/core/$(depth),.c .h)))
TEST_FILES := $(shell find tests -name '*.py' 2>/dev/null)
LABS := $(notdir $(patsubst %/lab.yaml,%,$(wildcard labs/*/lab.yaml)))
WHOLE_LABS := vector-add tiled-matmul
OTHER_LABS := $(filter-out $(WHOLE_LABS),$(LABS))
GPU_SITE := build/gpu/site-packages
# Without a network: this Python and its packages, what they lack from a folder of wheels.
ifdef WHEELS
GPU_READY := $(GPU_SITE)/ready
GPU_PYTHON := PYTHONPATH=$(CURDIR)/$(GPU_SITE):$(CURDIR) $(PYTHON)
else
GPU_READY := $(VENV)/gpu $(LIBRARY)
GPU_PYTHON := $(BIN)/python
endif
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet

.PHONY: help demo portal test test-notebooks test-lti tests check-labs announce-test test-gpu truth-gpu machine has-gpu test-fuzz labs handouts assets wheels bench lint bytecode clean

help:
	@echo 'make demo       grade a sample class of 12 submissions, show and write the reports'
	@echo 'make portal     serve a demo course on the web: submit, watch, see the class'
	@echo 'make test       run ruff, mypy and pytest, and check the labs (mutants of two labs);'
	@echo '                set PROCESSES=N for N test processes (default here: $(PROCESSES))'
	@echo 'make labs       check every lab with all mutants and cheats (about five minutes)'
	@echo 'make handouts   build the handouts as HTML and PDF in build/handouts'
	@echo 'make wheels     build the wheels for x86-64 and aarch64 and the source distribution in dist/'
	@echo 'make assets     build the editor and the plots of the portal again (needs npm; CHECK=--check'
	@echo '                only compares); for maintainers after a change of grader/portal/assets'
	@echo 'make bench      time the simulator and the commands'
	@echo 'make test-gpu   run the tests that need an NVIDIA GPU; WHEELS=DIR works without a network'
	@echo 'make machine    measure this GPU for estimates: machines/NAME.yaml; WHEELS=DIR as above'
	@echo 'make test-notebooks  try the magic in JupyterLab, nbgrader, otter-grader and nbconvert'
	@echo 'make test-lti   launch from Open edX and send it grades: its own LTI code, run here'
	@echo 'make test-fuzz  fuzz the simulator for one minute'
	@echo 'make clean      remove the files that the other targets made'

demo: bytecode
	@$(BIN)/python -m tests.classes.demo

portal: bytecode $(VENV)/web
	@$(BIN)/grader serve --demo

# All mutants and cheats of all labs take five minutes more: `make labs`.
# Half of the time that tests take they wait, and mypy has one process: all run at the same time.
test: announce-test $(VENV)/dev bytecode
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=line tests check-labs lint

# Each process imports all test files: with their bytecode, which pytest keeps, in a third of the time.
$(VENV)/found: $(VENV)/dev $(TEST_FILES)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qq >/dev/null || true  # pytest will say why
	@touch $@

tests: bytecode $(VENV)/found
	@echo '== pytest'
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(PROCESSES) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

check-labs: bytecode
	@echo '== labs, without mutants and cheats'
	@$(BIN)/grader labs check --quick $(OTHER_LABS)
	@echo '== labs, with mutants and cheats: $(WHOLE_LABS)'
	@$(BIN)/grader labs check $(WHOLE_LABS)

announce-test:
	@echo 'make test runs ruff, mypy, grader labs check (mutants of two labs) and pytest with'
	@echo '$(PROCESSES) processes; PROCESSES=N sets another number. This takes 10 to 30 minutes with 2 cores.'
	@missing=$$(sh tests/missing_programs.sh); [ -z "$$missing" ] || { \
	  echo 'Some tests need programs that are not installed; they will fail or be skipped.'; \
	  echo "  Debian, Ubuntu: sudo apt-get install $$missing"; }

lint: $(VENV)/dev bytecode
	@echo '== ruff'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { $(BIN)/ruff format --check .; exit 1; }
	@echo '== mypy'
	@$(BIN)/mypy grader warpgrade

test-gpu: has-gpu $(GPU_READY)
	@$(GPU_PYTHON) -m tests.gpu

truth-gpu: has-gpu $(GPU_READY)
	@$(GPU_PYTHON) -m tests.gpu --truth build/truth

machine: has-gpu $(GPU_READY)
	@$(GPU_PYTHON) -m grader labs calibrate --machine

has-gpu:
	@ls /dev/nvidia[0-9]* >/dev/null 2>&1 || { \
	  echo 'make: this machine has no NVIDIA GPU (no /dev/nvidia0); nothing was tested.' >&2; \
	  echo '  Use a machine with a GPU and its driver; "grader doctor" shows what is missing.' >&2; \
	  exit 1; }

test-notebooks: $(VENV)/notebooks bytecode
	@$(BIN)/python -m tests.notebook.systems tests/notebook/results/systems.txt

test-lti: $(VENV)/lti-platforms bytecode
	@$(BIN)/python -m tests.portal.lti.openedx.trials tests/portal/lti/results/openedx.txt

test-fuzz: $(VENV)/dev $(LIBRARY)
	@$(BIN)/python -m tests.fuzz --seconds 60

handouts: $(VENV)/handouts $(LIBRARY)
	@$(BIN)/python -m grader.authoring.handouts.build --out build/handouts

# The labs' pages are in the wheels, so their packages are needed too.
wheels: $(VENV)/wheels $(LIBRARY)
	@$(BIN)/python deploy/wheels.py

assets:
	@sh grader/portal/assets/build.sh $(CHECK)

labs: bytecode
	@$(BIN)/grader labs check

bench: bytecode
	@$(BIN)/python -m bench.matmul
	@$(BIN)/python -m bench.simulator
	@$(BIN)/python -m bench.growth
	@$(BIN)/python -m bench.check
	@$(BIN)/python -m bench.editor
	@$(BIN)/python -m bench.notebook
	@$(BIN)/python -m bench.labs
	@$(BIN)/python -m bench.readers
	@$(BIN)/python -m bench.stopping
	@$(BIN)/python -m bench.report

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f grader/simulator/_core*.so grader/simulator/_core*.part

# -- setting up ----------------------------------------------------------------------------------

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'make: $(PYTHON) is missing or older than 3.11. Install Python 3.11 or newer, or set:' >&2; \
	  echo '  make PYTHON=python3.12 $(MAKECMDGOALS)' >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo 'make: $(PYTHON) has no venv module. Debian, Ubuntu: sudo apt-get install python3-venv' >&2; \
	  exit 1; }
	@c=$${CC:-cc}; command -v "$${c%% *}" >/dev/null || { \
	  echo "make: no C compiler \`$$c\`. Debian, Ubuntu: sudo apt-get install gcc libc6-dev" >&2; \
	  exit 1; }
	@echo 'Creating a Python environment in $(VENV) ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The demo needs no extra. For the tests, one installation makes this and the next.
test: EXTRA := [dev]
$(VENV)/run: $(VENV)/made pyproject.toml setup.py
	@echo 'Installing warpgrade and its dependencies from PyPI, and building the C core'
	@echo '(one to two minutes the first time) ...'
	@$(PIP) 'setuptools>=77'
	@$(PIP) --no-build-isolation --editable '.$(EXTRA)'
	@touch $@ $(if $(EXTRA),$(VENV)/dev)

$(VENV)/dev: $(VENV)/run
	@[ -e $@ ] && [ ! $@ -ot $< ] || { \
	  echo 'Installing the packages for the tests from PyPI ...'; \
	  $(PIP) --no-build-isolation --editable '.[dev]'; }
	@touch $@

$(VENV)/web: $(VENV)/run
	@echo 'Installing the packages of the portal from PyPI ...'
	@$(PIP) --no-build-isolation --editable '.[web]'
	@touch $@

$(VENV)/handouts: $(VENV)/run
	@echo 'Installing the packages for the handouts from PyPI: pandoc and typst ...'
	@$(PIP) --no-build-isolation --editable '.[handouts]'
	@touch $@

$(VENV)/wheels: $(VENV)/run
	@echo 'Installing the packages for the wheels from PyPI: clang (185 MB), pandoc and others ...'
	@$(PIP) --no-build-isolation --editable '.[handouts,wheels]'
	@touch $@

$(VENV)/notebooks: $(VENV)/dev
	@echo 'Installing JupyterLab, nbgrader, otter-grader and nbconvert from PyPI (440 MB) ...'
	@$(PIP) --no-build-isolation --editable '.[notebooks]'
	@touch $@

$(VENV)/lti-platforms: $(VENV)/dev
	@echo "Installing Open edX's LTI platform from PyPI: Django and others (95 MB) ..."
	@$(PIP) --no-build-isolation --editable '.[lti-platforms]'
	@touch $@

$(VENV)/gpu: $(VENV)/dev
	@echo 'Installing PyCUDA, which is compiled with the CUDA toolkit (a few minutes) ...'
	@$(PIP) --no-build-isolation --editable '.[gpu]'
	@touch $@

$(GPU_SITE)/ready: $(wildcard $(WHEELS)/*.whl) $(CORE) setup.py
	@echo 'Unpacking $(WHEELS) into $(GPU_SITE) and building the C core ...'
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(PYTHON) -m pip install --quiet --no-index --no-deps \
	  --no-cache-dir --root-user-action ignore --upgrade --target $(GPU_SITE) $(WHEELS)/*.whl
	@$(GPU_PYTHON) setup.py --quiet build_ext --inplace
	@$(GPU_PYTHON) -m compileall -q grader
	@touch $@

# The editable install builds the library; later, only newer sources do.
$(LIBRARY): $(CORE) setup.py | $(VENV)/run
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@touch -c $@

# A sandboxed child cannot write bytecode: modules that only it imports would be compiled each time.
bytecode: $(LIBRARY)
	@$(BIN)/python -m compileall -q grader
