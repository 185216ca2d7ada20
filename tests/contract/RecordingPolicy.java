import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;

/** Refuses what holds the key "segment.ms", and says what it was shown. */
public class RecordingPolicy implements AlterConfigPolicy {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public void validate(RequestMetadata request) {
        if (request.configs().containsKey("segment.ms")) {
            throw new PolicyViolationException(
                request.resource().type() + " " + request.resource().name() + " " + new TreeMap<>(request.configs()));
        }
    }

    @Override
    public void close() {}
}
