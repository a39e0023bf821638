"""Interactive reports on models, each one HTML file that loads nothing."""

from __future__ import annotations

from gather_infer.pages.page_builder import page
from gather_infer.pages.result import Page

__all__ = ["Page", "page"]
