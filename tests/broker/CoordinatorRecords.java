import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Converts coordinators' records with Kafka's own classes. It reads lines "show NAME VERSION BYTES" and "make NAME
 * VERSION JSON", the last word in base64, and prints the record's bytes and its JSON for each, in base64.
 */
public class CoordinatorRecords {
    private static final String[] PARTS = {"group", "transaction", "share"};

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // for log messages of Kafka's classes
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        ObjectMapper json = new ObjectMapper();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            Class<?> type = named(words[1]);
            Class<?> converter = named(words[1] + "JsonConverter");
            short version = Short.parseShort(words[2]);
            byte[] given = Base64.getDecoder().decode(words[3]);
            Message message = words[0].equals("show")
                ? (Message) type.getConstructor(Readable.class, short.class)
                    .newInstance(new ByteBufferAccessor(ByteBuffer.wrap(given)), version)
                : (Message) converter.getMethod("read", JsonNode.class, short.class)
                    .invoke(null, json.readTree(given), version);
            Object shown = converter.getMethod("write", type, short.class).invoke(null, message, version);
            out.println(encoded(bytes(message, version)) + " "
                + encoded(shown.toString().getBytes(StandardCharsets.UTF_8)));
        }
    }

    private static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    private static Class<?> named(String name) throws ClassNotFoundException {
        for (String part : PARTS) {
            try {
                return Class.forName("org.apache.kafka.coordinator." + part + ".generated." + name);
            } catch (ClassNotFoundException another) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static String encoded(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }
}
