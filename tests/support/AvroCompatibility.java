// Writes the results of Avro's own SchemaCompatibility for pairs of schemas. Each line of standard input is READER,
// tab, WRITER; the line of output for it is "true", "false", or "invalid" if one of them is no schema.

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
