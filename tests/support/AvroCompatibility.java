// What Avro's own SchemaCompatibility says of pairs of schemas: lines of READER, tab, WRITER on the input; for each one
// "true" or "false" on the output, or "invalid" where one is no schema.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;

public class AvroCompatibility {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = input.readLine()) != null; ) {
            String[] pair = line.split("\t");
            String answer;
            try {
                Schema reader = new Schema.Parser().parse(pair[0]);
                Schema writer = new Schema.Parser().parse(pair[1]);
                answer = String.valueOf(SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getType()
                        == SchemaCompatibilityType.COMPATIBLE);
            } catch (RuntimeException error) {
                answer = "invalid";
            }
            System.out.println(answer);
        }
    }
}
