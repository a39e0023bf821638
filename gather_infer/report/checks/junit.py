"""Findings as JUnit XML, which CI systems show in their test reports.

Each file is a test suite. Each finding that fails the run is a test case, so that CI reports new ones separately; a
file without such findings has one passing case. Other findings go to the output of the suite.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from gather_infer.checks.result import CheckResult, reaches
from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.report.output_formats import CheckReport

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""


def checks_junit(report: CheckReport) -> list[str]:
    """The lines of the XML file."""
    root = ElementTree.Element("testsuites", name="gather-infer check")
    suites = [_suite(result, report.fail_on) for result in report.results]
    root.extend(suites)
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    root.set("time", f"{sum(result.seconds for result in report.results):.3f}")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return ['<?xml version="1.0" encoding="UTF-8"?>', *text.split("\n")]


def _suite(result: CheckResult, fail_on: Severity) -> ElementTree.Element:
    failing = [d for d in result.diagnostics if not result.was_checked or reaches(d.severity, fail_on)]
    model = _legal(result.model)
    kind = "failure" if result.was_checked else "error"
    suite = ElementTree.Element(
        "testsuite",
        name=model,
        tests=str(max(1, len(failing))),
        failures=str(len(failing) if result.was_checked else 0),
        errors=str(0 if result.was_checked else len(failing)),
        skipped="0",
        time=f"{result.seconds:.3f}",
    )
    if not failing:
        ElementTree.SubElement(suite, "testcase", classname=model, name="check", time=f"{result.seconds:.3f}")
    for finding in failing:
        case = ElementTree.SubElement(suite, "testcase", classname=model, name=_name(finding), time="0.000")
        element = ElementTree.SubElement(case, kind, type=finding.code, message=_legal(finding.message))
        element.text = _legal(finding.text(result.model))
    rest = [d for d in result.diagnostics if d not in failing]
    if rest:
        ElementTree.SubElement(suite, "system-out").text = _legal("\n".join(d.text(result.model) for d in rest))
    return suite


def _name(finding: Diagnostic) -> str:
    """The name of the test case, which is the same in every run that has the finding."""
    return _legal(f"{finding.code} {finding.location}")


def _legal(text: str) -> str:
    return _FORBIDDEN.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)
