import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * A source connector that writes no records. It has a password, refuses the mode "forbidden", takes "stop.ms"
 * milliseconds to stop, and its task fails with the mode "broken".
 */
public class ThrowAwaySource extends SourceConnector {
    static final ConfigDef CONFIGS = new ConfigDef()
        .define("password", ConfigDef.Type.PASSWORD, null, ConfigDef.Importance.HIGH, "What it logs in with.")
        .define("mode", ConfigDef.Type.STRING, "idle", (name, value) -> {
            if ("forbidden".equals(value)) throw new ConfigException(name, value, "It is forbidden.");
        }, ConfigDef.Importance.MEDIUM, "What its task does.")
        .define("stop.ms", ConfigDef.Type.LONG, 0, ConfigDef.Range.atLeast(0), ConfigDef.Importance.LOW, "How long it stops.");

    private Map<String, String> properties;

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public void start(Map<String, String> properties) {
        this.properties = properties;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Idle.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return Collections.nCopies(most, properties);
    }

    @Override
    public void stop() {
        pause(properties);
    }

    @Override
    public ConfigDef config() {
        return CONFIGS;
    }

    static void pause(Map<String, String> properties) {
        try {
            Thread.sleep(Long.parseLong(properties.getOrDefault("stop.ms", "0")));
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** The connector's task. */
    public static class Idle extends SourceTask {
        private Map<String, String> properties;

        @Override
        public String version() {
            return "1.2.3";
        }

        @Override
        public void start(Map<String, String> properties) {
            this.properties = properties;
            if ("broken".equals(properties.get("mode"))) throw new ConnectException("It is broken.");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(100);
            return null;
        }

        @Override
        public void stop() {
            pause(properties);
        }
    }
}
