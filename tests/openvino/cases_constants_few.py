"""The constants and Converts that every run of the tests has: every sixth Convert of a plain type, and all the rest."""

from tests.openvino.cases_constants import CASES as ALL
from tests.openvino.cases_constants import PLAIN

_PLAIN = [name for name in ALL if name.split()[0] in PLAIN]
CASES = {name: case for name, case in ALL.items() if name not in _PLAIN or _PLAIN.index(name) % 6 == 0}
