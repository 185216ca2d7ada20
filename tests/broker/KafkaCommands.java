import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs a command of Kafka for each line of its input, all in one process. A line has a class's name and its arguments,
 * separated by spaces, in base64 after "=". The answer is a line with the exit code, standard output and error.
 */
public class KafkaCommands {
    private static final PrintStream ANSWERS = System.out;

    public static void main(String[] ignored) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = Stream.of(line.split(" ")).map(KafkaCommands::decoded).toArray(String[]::new);
            ANSWERS.println(new Run().answer(words));
            ANSWERS.flush();
        }
    }

    /** Runs a command. Its first exit makes the answer: the command's handlers catch the exception that ends it. */
    private static class Run {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final ByteArrayOutputStream err = new ByteArrayOutputStream();
        private String answer;

        String answer(String[] words) throws Exception {
            System.setOut(new PrintStream(out, true, "UTF-8"));
            System.setErr(new PrintStream(err, true, "UTF-8"));
            Exit.setExitProcedure((code, message) -> {
                end(code);
                throw new IllegalStateException("ended");
            });
            Method command = Class.forName(words[0]).getMethod("main", String[].class);
            try {
                command.invoke(null, (Object) Stream.of(words).skip(1).toArray(String[]::new));
            } catch (InvocationTargetException ended) {
                if (answer == null) {
                    ended.getCause().printStackTrace(System.err);
                    end(1);
                }
            }
            end(0);
            return answer;
        }

        private void end(int code) {
            if (answer == null) {
                System.out.flush();
                System.err.flush();
                answer = code + " " + encoded(out) + " " + encoded(err);
            }
        }
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8);
    }

    private static String encoded(ByteArrayOutputStream text) {
        return "=" + Base64.getEncoder().encodeToString(text.toByteArray());
    }
}
