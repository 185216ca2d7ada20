// Writes payloads of Apicurio's own serializers: a line of JSON for each, with its headers.

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Timestamp;
import com.google.protobuf.TimestampProto;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;

public class ApicurioPayloads {
    static final String TOPIC = "orders";
    static String url;

    public static void main(String[] arguments) throws Exception {
        url = arguments[0];
        Schema order = new Schema.Parser().parse("{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\","
            + "\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"email\",\"type\":\"string\"}]}");
        Object avro = new GenericRecordBuilder(order).set("id", 7L).set("email", "a@example.org").build();
        each("avro", new AvroKafkaSerializer<Object>(), avro);
        write("avro-json", new AvroKafkaSerializer<Object>(), avro, "apicurio.registry.avro.encoding", "JSON");

        FieldDescriptorProto id = FieldDescriptorProto.newBuilder().setName("id").setNumber(1)
            .setType(FieldDescriptorProto.Type.TYPE_INT64).setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL).build();
        FileDescriptorProto file = FileDescriptorProto.newBuilder().setName("payments").setSyntax("proto3")
            .setPackage("shop")
            .addMessageType(DescriptorProto.newBuilder().setName("Unused").addField(id))
            .addMessageType(DescriptorProto.newBuilder().setName("Payment").addField(id)).build();
        Descriptor payment = FileDescriptor.buildFrom(file, new FileDescriptor[0]).findMessageTypeByName("Payment");
        DynamicMessage message = DynamicMessage.newBuilder(payment).setField(payment.getFields().get(0), 7L).build();
        each("protobuf", new ProtobufKafkaSerializer<DynamicMessage>(), message);
        each("key-protobuf", new ProtobufKafkaSerializer<DynamicMessage>(), message);

        FileDescriptor money = FileDescriptor.buildFrom(FileDescriptorProto.newBuilder().setName("money.proto")
            .setSyntax("proto3").setPackage("shop").addDependency("google/protobuf/timestamp.proto")
            .addMessageType(DescriptorProto.newBuilder().setName("Money").addField(id)
                .addField(field("at", 2, ".google.protobuf.Timestamp"))).build(),
            new FileDescriptor[] {TimestampProto.getDescriptor()});
        // The length of the message's name takes two bytes.
        Descriptor bill = FileDescriptor.buildFrom(FileDescriptorProto.newBuilder().setName("bills")
            .setSyntax("proto3").setPackage("shop").addDependency("money.proto")
            .addMessageType(DescriptorProto.newBuilder().setName("Bill" + "s".repeat(126)).addField(id)
                .addField(field("sum", 2, ".shop.Money"))).build(),
            new FileDescriptor[] {money}).getMessageTypes().get(0);
        Descriptor sum = money.getMessageTypes().get(0);
        each("references", new ProtobufKafkaSerializer<DynamicMessage>(), DynamicMessage.newBuilder(bill)
            .setField(bill.getFields().get(0), 7L)
            .setField(bill.getFields().get(1), DynamicMessage.newBuilder(sum).setField(sum.getFields().get(0), 5L)
                .setField(sum.getFields().get(1), Timestamp.newBuilder().setSeconds(1).build()).build()).build());
    }

    static FieldDescriptorProto field(String name, int number, String type) {
        return FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setTypeName(type)
            .setType(FieldDescriptorProto.Type.TYPE_MESSAGE).setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL).build();
    }

    static <T> void each(String name, Serializer<T> serializer, T value) {
        write(name + "-headers-global", serializer, value, "apicurio.registry.use-id", "globalId");
        write(name + "-headers-content", serializer, value, "apicurio.registry.use-id", "contentId");
        String[] plain = {"apicurio.registry.headers.enabled", "false"};
        write(name + "-global", serializer, value, plain[0], plain[1], "apicurio.registry.use-id", "globalId");
        write(name + "-content", serializer, value, plain[0], plain[1], "apicurio.registry.use-id", "contentId");
        write(name + "-4-bytes", serializer, value, plain[0], plain[1], "apicurio.registry.as-confluent", "true",
            "apicurio.registry.use-id", "contentId");
    }

    static <T> void write(String name, Serializer<T> serializer, T value, String... options) {
        Map<String, Object> config = new HashMap<>();
        config.put("apicurio.registry.url", url);
        config.put("apicurio.registry.auto-register", true);
        config.put("apicurio.registry.headers.enabled", true);
        for (int at = 0; at < options.length; at += 2) {
            config.put(options[at], options[at + 1]);
        }
        try {
            Serializer<T> own = (Serializer<T>) serializer.getClass().getConstructor().newInstance();
            own.configure(config, name.startsWith("key"));
            RecordHeaders headers = new RecordHeaders();
            byte[] data = own.serialize(TOPIC, headers, value);
            List<String> pairs = new ArrayList<>();
            for (Header each : headers) {
                pairs.add("[\"" + each.key() + "\", \"" + HexFormat.of().formatHex(each.value()) + "\"]");
            }
            System.out.println("{\"name\": \"" + name + "\", \"data\": \"" + HexFormat.of().formatHex(data)
                + "\", \"headers\": [" + String.join(", ", pairs) + "]}");
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(name, error);
        }
    }
}
