"""All networks by name."""

from networks.detection import DETECTION_NETWORKS
from networks.experts import EXPERT_NETWORKS
from networks.features import FEATURE_NETWORKS
from networks.images import IMAGE_NETWORKS
from networks.sequences import SEQUENCE_NETWORKS
from networks.transformers_tiny import TRANSFORMERS

NETWORKS = IMAGE_NETWORKS | DETECTION_NETWORKS | SEQUENCE_NETWORKS | FEATURE_NETWORKS | EXPERT_NETWORKS | TRANSFORMERS
