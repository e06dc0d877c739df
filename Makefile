# The commands in README.md. They work on a fresh machine: .venv and Debian packages are installed if they are missing.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/core
READY := $(VENV)/ready
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
FUZZ_COUNT ?= 1000000
COUNT ?= 36
SEED ?= 0
# Shader compilers allocate so much that they take twice as long with glibc's own allocator; with jemalloc, DXC crashes.
# Each process gets consecutive tests, so that their shared fixtures are created once.
PYTEST := LD_PRELOAD=$$(ls /usr/lib/*/libmimalloc.so 2>/dev/null) $(BIN)/pytest -n $$(nproc) --dist worksteal
.PHONY: generate check docs lint test mutate debian-packages pytest bench bench-gpu install dist fuzz fuzz-differential fuzz-gpu test-webnn test-shaders clean

generate: $(CORE)           ## specs/ -> generated/
	@$(BIN)/dmlgen generate
	@$(BIN)/dmlgen schema

check: $(CORE)              ## fail with a diff if generated/ or the schemas are out of date
	@$(BIN)/dmlgen generate --check
	@$(BIN)/dmlgen schema --check

docs: $(CORE)               ## build the reference site in build/docs; open index.html
	@$(BIN)/dmlgen docs

lint: $(READY)              ## check specs, Python style and types
	$(BIN)/dmlgen lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy generator/dmlgen generator/dmlaudit generated/python/dmlops runtime/dmlops

test:                       ## everything that CI runs, including shaders on software Vulkan
	@$(MAKE) --no-print-directory --jobs=2 debian-packages $(READY)  # two jobs, because downloads leave a core idle
	@$(MAKE) --no-print-directory check lint pytest

mutate: $(READY)            ## change facts in the specs and say who notices; COUNT and SEED
	@$(BIN)/python scripts/mutate.py --count $(COUNT) --seed $(SEED)

debian-packages:
	scripts/install-debian-packages

pytest:
	$(PYTEST)

bench: $(READY)             ## benchmarks, as ratios within one run
	$(BIN)/python -m bench

bench-gpu: $(READY)         ## benchmarks of the shaders, next to torch if it is installed; results in build/bench
	@mkdir -p build/bench
	$(BIN)/python bench/gpu.py build/bench --json build/bench/gpu.json --plot build/bench/gpu.svg
	$(BIN)/python bench/gpu_session.py build/bench --json build/bench/session.json
	$(BIN)/python bench/models.py build/bench --json build/bench/models.json

install:                    ## install dmlops.h, shaders, CMake package and pkg-config file into PREFIX, below DESTDIR if given
	cmake -S . -B build/install
	cmake --install build/install --prefix "$(PREFIX)"

dist: $(READY)              ## build wheels, sdists, and an archive of header, shaders and CMake files in build/dist
	$(BIN)/python scripts/dist.py

fuzz: $(READY)              ## run dmlops_validate under libFuzzer and sanitizers for FUZZ_SECONDS
	scripts/install-debian-packages
	$(BIN)/python tests/c_fuzz.py $(FUZZ_SECONDS)

fuzz-differential: $(READY) ## compare C with Python on FUZZ_COUNT random descriptions, and as many graphs
	$(BIN)/python tests/c_differential.py $(FUZZ_COUNT)
	$(BIN)/python tests/c_graphs.py $(FUZZ_COUNT)

fuzz-gpu: $(READY)          ## compare shaders with the reference on random descriptions for FUZZ_SECONDS
	$(BIN)/python tests/gpu_fuzz.py $(FUZZ_SECONDS) $$(nproc)

test-webnn: $(READY)        ## run W3C's conformance cases of WebNN as graphs on the GPU
	$(BIN)/python tests/webnn_gpu.py

test-shaders: $(READY)      ## compile every variant of every shader, run every small case of the matrices
	scripts/install-debian-packages
	DMLOPS_ALL_SHADERS=1 DMLOPS_MATRIX_CASES=1000000 $(PYTEST) \
	    tests/test_shaders.py tests/test_gpu_matrix.py

clean:                      ## remove everything that can be rebuilt; generated/ is committed and stays
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The generator and the three packages that it needs. Python 3.11 or newer; uses python3 if PYTHON is not found.
$(CORE): pyproject.toml setup.py
	@test -x $(BIN)/python || $$(command -v $(PYTHON) || command -v python3) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# All tools, and the generated package; in CI also PyTorch, which takes several gigabytes unless there is a CPU build.
comma := ,
$(READY): $(CORE)
	@test -e generated/python/setup.py || $(BIN)/dmlgen generate
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --editable '.[dev,gpu$(if $(CI),$(comma)oracle)]' --editable generated/python
	@touch $@
