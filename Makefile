# make course   everything a reader needs: install, execute every lecture, build the site
# make test     unit tests, strict validation of the notebooks from the built wheel, the site and its links
# make test-all all that is too slow for every change, too: weekly, and before a release, with nothing beside it
# make quick    before a commit: style and fast tests, no lecture executed: two or three minutes
# make lab      JupyterLab in the same environment, on the first lecture
# make release  what students get: a folder and a zip without solutions and hidden tests, in build/release
# make clean    remove all that make made
#
# PYTHON=python3.12 picks another Python for the environment; PIP_OPTIONS is handed to pip, such as
# PIP_OPTIONS="--extra-index-url https://download.pytorch.org/whl/cpu" on Linux, where PyPI's torch brings CUDA along.

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
READY := $(VENV)/.ready

.PHONY: course test test-all quick lab release clean constraints sums minutes

course: $(READY)
	rm -rf build/lectures build/site
	$(BIN)/bertcourse doctor
	$(BIN)/bertcourse run --output build/lectures $(wildcard notebooks/*.ipynb)
	$(BIN)/python tools/site/build.py build/lectures build/site
	@echo
	@echo "Every lecture ran. Read them in a browser: build/site/index.html. Run them yourself: make lab"

# $(call beside,NAME,COMMAND,COMMANDS): the first goes on in the background, and what came of it follows at the end, and is
# in build/NAME.log. COMMANDS are one or more, each with "|| failed=1" after it.
beside = @mkdir -p build; $(2) > build/$(1).log 2>&1 & beside=$$!; trap 'kill $$beside; exit 130' INT TERM; failed=0; \
	$(3); wait $$beside || failed=1; cat build/$(1).log; exit $$failed

# What fails fast comes first. Then two at a time, of about equal length: the longer lectures, and all else, with one
# thread for the tests, as two processes of two threads each would mostly wait for each other.
FIRST := tests/test_house.py tests/test_lecture_order.py
RULES := tests/test_notebooks.py::test_lecture_keeps_the_rules tests/test_notebooks.py::test_every_cell_of_a_solved_homework_was_run
NOTEBOOKS := tests/test_notebooks.py tests/test_wheel.py
SHORTER := solutions or solved_homework or hw07 or wheel or 01_ or 02_ or 03_ or 05_ or 06_
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -m "not weekly" --durations=15
test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) -q $(FIRST) $(RULES)
	@echo "The longer notebooks are validated meanwhile; what came of it follows at the end, and is in build/notebooks.log."
	$(call beside,notebooks,$(PYTEST) $(NOTEBOOKS) -k "not ($(SHORTER))",\
	$(PYTEST) $(addprefix --ignore=,$(FIRST) $(NOTEBOOKS)) || failed=1; $(PYTEST) $(NOTEBOOKS) -k "$(SHORTER)" || failed=1)

# All that `make test` leaves out, two at a time, too; at the end, with nothing beside it, the times that lectures state.
WEEKLY := $(BIN)/pytest -m weekly --durations=30
STATED := in_the_time_that_it_states
test-all: test
	$(call beside,weekly,$(WEEKLY) tests/test_notebooks.py -k "not $(STATED) and not avx2",\
	OMP_NUM_THREADS=1 $(WEEKLY) --ignore=tests/test_notebooks.py || failed=1; $(WEEKLY) tests/test_notebooks.py -k avx2 || failed=1)
	$(WEEKLY) tests/test_notebooks.py -k $(STATED)

# Two at a time, too.
TOOLS := tests/bertcourse_lab tests/bertcourse_homework tests/bertcourse_grading
QUICK := OMP_NUM_THREADS=1 $(BIN)/pytest -q -m "not slow and not weekly"
quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(call beside,tools,$(QUICK) $(TOOLS),$(QUICK) $(addprefix --ignore=,$(TOOLS)) || failed=1)

lab: $(READY)
	@$(BIN)/jupyter trust $(wildcard notebooks/*.ipynb notebooks/solutions/*.ipynb) > /dev/null
	$(BIN)/jupyter lab notebooks/00_static_embeddings.ipynb

release: $(READY)
	$(BIN)/bertcourse homework release --output build/release

# After a change to a lecture or to tools/site/syllabi.toml: the syllabi of the lecturers' guide.
.PHONY: syllabus
syllabus: $(READY)
	$(BIN)/python tools/site/syllabus.py

# After a change to tools/bertcourse_figures/js or to the colours of schematic.py: both in the stored figures.
.PHONY: figures
figures: $(READY)
	$(BIN)/python tools/site/renew_figures.py

clean:
	rm -rf $(VENV) build dist .coverage .pytest_cache *.egg-info

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed; $(PYTHON) is {v[0]}.{v[1]}. Name another: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e ".[all]"
	@$(PYTHON) -c 'open("$(READY)", "w").close()'

# After a change to a lecture: how many minutes each of its sections takes, in the lecturers' guide.
minutes: $(READY)
	$(BIN)/python tools/site/minutes.py

# After a change to data/: the hashes by which an installation is checked.
sums:
	cd data && find . -type f ! -name '*.md' ! -name '*.py' ! -name SHA256SUMS | sed 's:^\./::' | LC_ALL=C sort | xargs sha256sum > ../SHA256SUMS.new
	mv SHA256SUMS.new data/SHA256SUMS

# After a change to pyproject.toml, or to move to newer versions: all pins, from a fresh environment.
constraints:
	rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) torch==2.13.0 -e ".[all]"
	grep '^#' constraints.txt > build/constraints.txt
	build/pins/bin/python -m pip freeze --exclude-editable | sed 's/^\(torch==[0-9.]*\)+.*/\1/' >> build/constraints.txt
	mv build/constraints.txt constraints.txt
