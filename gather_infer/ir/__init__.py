"""The intermediate representation (IR): graphs with def-use chains, scopes, names, edits and lossless write-back.

Model holds the graphs of a file by path. Graph, Node and Value are linked by names and scopes: a name in a subgraph
refers to the innermost definition around it. Edits keep the links consistent and are recorded with their reason;
`write_back` turns them into a journal and a message. The IR depends on no analysis: facts are attached to values by
those who have them.
"""

from gather_infer.ir.graph import ConstantPayload, Graph, Node, Use, Value
from gather_infer.ir.model import Model
from gather_infer.ir.verifier import require_well_formed, structural_findings

__all__ = ["ConstantPayload", "Graph", "Model", "Node", "Use", "Value", "require_well_formed", "structural_findings"]
