import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

/** Reads a text from each line, in base64, and prints Java's result: key:value …, in base64, or "!" and the error. */
public class JavaFormats {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // for log messages of Kafka's classes
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            byte[] text = Base64.getDecoder().decode(line);
            try {
                Map<?, ?> entries = switch (arguments[0]) {
                    case "properties" -> properties(text);
                    case "providers" -> Map.of("client.id", clientId(text));
                    default -> options(text);
                };
                out.println(entries.entrySet().stream()
                    .map(entry -> encoded(entry.getKey()) + ":" + encoded(entry.getValue()))
                    .collect(Collectors.joining(" ")));
            } catch (RuntimeException refused) {
                out.println("!" + refused.getMessage());
            }
        }
    }

    private static Map<?, ?> properties(byte[] text) throws Exception {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(text));
        return properties;
    }

    private static String clientId(byte[] text) throws Exception {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(text));
        return new AdminClientConfig(properties).originals().get("client.id").toString();
    }

    private static Map<?, ?> options(byte[] text) {
        Password config = new Password(new String(text, StandardCharsets.UTF_8));
        return JaasContext.loadClientContext(Map.of("sasl.jaas.config", config))
            .configurationEntries().get(0).getOptions();
    }

    private static String encoded(Object text) {
        return Base64.getEncoder().encodeToString(text.toString().getBytes(StandardCharsets.UTF_8));
    }
}
