.PHONY: test lint docs oracle mutants bench fixtures-check

test:
	pytest

lint:
	ruff check .
	ruff format --check .
	mypy

# the docs site, in build/docs; needs '.[docs]'
docs:
	python -m sphinx -W --keep-going -q -b html -c docs/site . build/docs

# long comparisons with the runtimes
oracle:
	pytest -m oracle

# small changes of the source that a test has to notice; needs '.[mutants]', and the suite once under coverage
mutants:
	python tools/mutants.py --places 100 --seed 1

# side by side with the other tools, as ratios; a few minutes
bench:
	python benchmarks/infer.py

# needs fixtures/requirements.txt, and the openvino of fixtures/openvino/manifest.json
fixtures-check:
	python fixtures/make.py --check
	python -m fixtures.openvino.make --check
	pytest tests/fixtures/regenerate.py
