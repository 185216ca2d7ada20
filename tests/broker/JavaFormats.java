import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

/** Reads one text a line, in base64, and prints what Java makes of it: key:value …, in base64, or ! and why not. */
public class JavaFormats {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            byte[] text = Base64.getDecoder().decode(line);
            try {
                Map<?, ?> entries = arguments[0].equals("properties") ? properties(text) : options(text);
                System.out.println(entries.entrySet().stream()
                    .map(entry -> encoded(entry.getKey()) + ":" + encoded(entry.getValue()))
                    .collect(Collectors.joining(" ")));
            } catch (RuntimeException refused) {
                System.out.println("!" + refused.getMessage());
            }
        }
    }

    private static Map<?, ?> properties(byte[] text) throws Exception {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(text));
        return properties;
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
