"""StreamsGroupDescribe (89), v1.

Written from Kafka 4.4's definitions by ``python -m tests.support.record_newer_messages``.
"""

from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode
from kio.schema.streams_group_describe.v0 import response as before
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta

from console.wire.message_bases import FlexiblePart, FlexibleRequest, FlexibleResponse

Topology = before.Topology
Member = before.Member


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupDescribeRequest(FlexibleRequest, key=89, version=1):
    """The request."""

    group_ids: tuple[GroupId, ...] = field(metadata={"kafka_type": "string"}, default=())
    """The ids of the groups to describe."""
    include_authorized_operations: bool = field(metadata={"kafka_type": "bool"})
    """Whether to include authorized operations."""
    include_topology_description: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """Whether to include the full topology description from the topology description plugin in the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDescriptionNode(FlexiblePart, version=1):
    """A structure of StreamsGroupDescribeResponse."""

    name: str = field(metadata={"kafka_type": "string"})
    """The name of this node (e.g., KSTREAM-SOURCE-0000000000)."""
    node_type: i8 = field(metadata={"kafka_type": "int8"})
    """The type of this node: 1=SOURCE, 2=PROCESSOR, 3=SINK."""
    source_topics: tuple[TopicName, ...] = field(metadata={"kafka_type": "string"}, default=())
    """The source topics this node reads from. Defined only for source nodes, may be empty if source topics are
    dynamically determined."""
    sink_topic: TopicName | None = field(metadata={"kafka_type": "string"}, default=None)
    """The topic this node writes to. Defined only for sink nodes, may be null if sink topic is dynamically
    determined."""
    stores: tuple[str, ...] = field(metadata={"kafka_type": "string"}, default=())
    """The state store names accessed by this node. Defined only for processor nodes."""
    successors: tuple[str, ...] = field(metadata={"kafka_type": "string"}, default=())
    """The names of successor nodes in the processing graph. Predecessor relationships are reconstructed from this
    field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDescriptionSubtopology(FlexiblePart, version=1):
    """A structure of StreamsGroupDescribeResponse."""

    subtopology_id: str = field(metadata={"kafka_type": "string"})
    """The subtopology identifier, unique within the topology."""
    nodes: tuple[TopologyDescriptionNode, ...]
    """The processing nodes in this subtopology."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDescriptionGlobalStore(FlexiblePart, version=1):
    """A structure of StreamsGroupDescribeResponse."""

    source: TopologyDescriptionNode
    """The source node providing data to the global store."""
    processor: TopologyDescriptionNode
    """The processor node that populates the global store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyDescription(FlexiblePart, version=1):
    """A structure of StreamsGroupDescribeResponse."""

    subtopologies: tuple[TopologyDescriptionSubtopology, ...]
    """The subtopologies that make up this topology."""
    global_stores: tuple[TopologyDescriptionGlobalStore, ...]
    """Global state stores used by this topology."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(FlexiblePart, version=1):
    """Each described group."""

    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    """The describe error, or 0 if there was no error."""
    error_message: str | None = field(metadata={"kafka_type": "string"}, default=None)
    """The top-level error message, or null if there was no error."""
    group_id: GroupId = field(metadata={"kafka_type": "string"})
    """The group ID string."""
    group_state: str = field(metadata={"kafka_type": "string"})
    """The group state string, or the empty string."""
    group_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The group epoch."""
    assignment_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The assignment epoch."""
    topology: Topology | None = field(default=None)
    """The topology metadata currently initialized for the streams application. Can be null in case of a describe
    error."""
    members: tuple[Member, ...]
    """The members."""
    authorized_operations: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-2147483648))
    """32-bit bitfield to represent authorized operations for this group."""
    topology_description: TopologyDescription | None = field(default=None)
    """The full topology description for this group. Non-null if and only if TopologyDescriptionStatus is AVAILABLE
    (3); null otherwise."""
    topology_description_status: i8 = field(metadata={"kafka_type": "int8"}, default=i8(0))
    """The status of the topology description for this group, paired with TopologyDescription: 0=NOT_REQUESTED (client
    did not set IncludeTopologyDescription; TopologyDescription is null); 1=NOT_STORED (no description recorded for
    this group; TopologyDescription is null); 2=ERROR (broker failed to fetch the description, see broker logs;
    TopologyDescription is null); 3=AVAILABLE (TopologyDescription is non-null and carries the description)."""
    assignor_name: str | None = field(metadata={"kafka_type": "string"}, default=None)
    """The task assignor that the group coordinator will use for the next assignment computation. This may differ from
    the assignor that computed the current assignment, because changing the assignor configuration does not trigger a
    rebalance. Null in case of a describe error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupDescribeResponse(FlexibleResponse, key=89, version=1):
    """The response."""

    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the
    request did not violate any quota."""
    groups: tuple[DescribedGroup, ...]
    """Each described group."""
