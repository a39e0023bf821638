.PHONY: test lint oracle bench fixtures-check

test:
	pytest

lint:
	ruff check .
	ruff format --check .
	mypy

# long comparisons with the runtimes
oracle:
	pytest -m oracle

# side by side with the other tools, as ratios; a few minutes
bench:
	python benchmarks/infer.py

# needs fixtures/requirements.txt
fixtures-check:
	python fixtures/make.py --check
	pytest tests/fixtures/regenerate.py
