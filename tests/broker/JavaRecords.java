import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Reads and writes records with Java's client, and prints the partitions that it chooses for keys. */
public class JavaRecords {
    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "partitions" -> partitions(Integer.parseInt(words[1]));
            case "read" -> read(words[1], words[2]);
            default -> write(words[1], words[2]);
        }
    }

    /** Prints the partition that the producer's own partitioner chooses for each key, which is a line of base64. */
    private static void partitions(int count) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            byte[] key = Base64.getDecoder().decode(lines.nextLine());
            System.out.println(BuiltInPartitioner.partitionForKey(key, count));
        }
    }

    /** Prints every record of a topic: partition, offset, time, key, value and headers; a dash for null. */
    private static void read(String bootstrap, String topic) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("isolation.level", "read_committed");
        try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> places = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(each -> places.add(new TopicPartition(topic, each.partition())));
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            while (places.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofSeconds(1))) {
                    StringBuilder line = new StringBuilder();
                    line.append(each.partition()).append(' ').append(each.offset()).append(' ').append(each.timestamp());
                    line.append(' ').append(text(each.key())).append(' ').append(text(each.value()));
                    for (Header header : each.headers()) {
                        line.append(' ').append(text(header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8)));
                        line.append(':').append(text(header.value()));
                    }
                    System.out.println(line);
                }
            }
        }
    }

    /** Writes a record for each line, which has a key and a value. */
    private static void write(String bootstrap, String topic) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        Scanner lines = new Scanner(System.in);
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (lines.hasNextLine()) {
                String[] parts = lines.nextLine().split(" ");
                producer.send(new ProducerRecord<>(topic, data(parts[0]), data(parts[1]))).get();
            }
        }
    }

    private static String text(byte[] data) {
        return data == null ? "-" : "." + Base64.getEncoder().encodeToString(data);
    }

    private static byte[] data(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text.substring(1));
    }
}
