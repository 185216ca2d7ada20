"""The words that belong to Kafka itself and therefore stay in an anonymous record."""

from __future__ import annotations

_VALUES = """
__cluster_metadata __consumer_offsets __remote_log_metadata __share_group_state __transaction_state * User:*
kafka-cluster user client-id ip producer_byte_rate consumer_byte_rate request_percentage controller_mutation_rate
connection_creation_rate PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL CONTROLLER consumer connect classic share streams range
roundrobin sticky cooperative-sticky uniform simple Classic Consumer Share Streams Empty Dead Stable
PreparingRebalance CompletingRebalance Assigning Reconciling NotReady Unknown Ongoing PrepareCommit PrepareAbort
CompleteCommit CompleteAbort PrepareEpochFence metadata.version kraft.version transaction.version group.version
eligible.leader.replicas.version share.version streams.version delete compact producer uncompressed gzip snappy lz4
MirrorSource MirrorSourceConnector MirrorCheckpoint MirrorCheckpointConnector MirrorHeartbeat
MirrorHeartbeatConnector org.apache.kafka.connect.mirror.MirrorSourceConnector
org.apache.kafka.connect.mirror.MirrorCheckpointConnector org.apache.kafka.connect.mirror.MirrorHeartbeatConnector
zstd none CreateTime LogAppendTime true false read_committed read_uncommitted required requested
"""
VALUES = frozenset(_VALUES.split())
"""Names of internal topics, features, assignors, states and MirrorMaker's connectors; types of entities and groups;
security protocols; quota keys; and values of configs.
"""

_CONFIG_WORDS = """
abort acceptable acknowledge acks acl add advertised after algorithm allow alter always api append assertion
assignment assignor assignors aud audience auth authentication authorizer auto aware background backlog backoff batch
before between bootstrap broker buffer builder bytes cache cached callback certificate certificates chain changes
check checkpoint cipher claim class cleanable cleaner cleanup client clientCnxnSocket clock cmd codec cold commit
compaction compression config connect connection connections consumer control controlled controller coordinator copier
copy cordoned count create creation credentials crl custom data deadletterqueue decompressed dedupe default delay
delegation delete delivery description difference dir dirs dirty disable dlq dn downconversion duration early election
eligible enable enabled encoder endpoint engine errors exp expected expiration expired expiry factor factory failed
failure feature fetch fetchers file flight flush follower format generation group groups gzip handler heartbeat high
host hours id identification idle imbalance impl implementation in include incremental index initial initialize insync
inter internal interval io ip isolation isr iss issuer iterations jaas jitter jmx join jti jwks jwt kafka kerberos key
keyfactory keymanager keystore kinit lag last leader length level lifetime limit linger list listen listener listeners
load local location lock locks log login lz4 manager map mapping master match max mechanism mechanisms message
messages metadata metric metrics migration millis min minutes ms name names nbf network new node num oauthbearer ocsp
offload offset offsets old on out overrides partition partitions passphrase password path pending per percentage
performance period persister phase plane plugin policy polling pool port preallocate prefix principal private process
producer protocol protocols provider providers prune purgatory purge queued quorum quota rack random rate ratio read
reader reauth rebalance receive record recording records recovery refresh regex registration relogin remote remove
renew replica replicas replication reporter reporters request requests required reserved reset response retention
retries retriever retry roles roll rules sample samples san sasl scheduler scope second seconds secret secs secure
security segment selector send server servers service session sessions set setup share shutdown size skew slots
snapshot snapshots socket ssl standby start startup state storage streams sub suites sync system tags task tasks
telemetry template thread threads threshold throttled ticket tiered time timed timeout timestamp to token topic topics
topology total transaction transactional trustmanager truststore ttl two txn type unclean unstable unverified update
url validator verification version versions voters wait warmup watermark window write zookeeper zstd
"""
CONFIG_WORDS = frozenset(_CONFIG_WORDS.split())
"""The words of which config names consist, separated by dots, dashes and underscores, from Kafka 2.8 to 4.4."""
