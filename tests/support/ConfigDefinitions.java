import java.io.*;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.config.ConfigDef;

/**
 * Writes the config definitions of the Kafka on the class path as JSON; releases have them in different classes. With
 * the argument "verdicts", it parses values with Kafka's definitions: each line of standard input has a section, a key
 * and a value, separated by tabs, key and value in base64; the line of output for it is "ok", or the exception's
 * message in base64. With the argument "of" and pairs of a class and a member, it writes the definitions in each
 * member.
 */
public class ConfigDefinitions {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) write();
        else if (arguments[0].equals("verdicts")) verdicts();
        else writeOf(arguments);
    }

    static void writeOf(String[] arguments) throws Exception {
        Map<String, Object> all = new LinkedHashMap<>();
        for (int at = 1; at < arguments.length; at += 2) {
            ConfigDef found = (ConfigDef) first(arguments[at], arguments[at + 1]);
            all.put(arguments[at], definitions(found.configKeys()));
        }
        StringBuilder text = new StringBuilder();
        write(all, text);
        System.out.println(text);
    }

    static void write() throws Exception {
        Map<String, Object> all = new TreeMap<>();
        ConfigDef topic = section("topic"), broker = section("broker");
        all.put("topic", definitions(topic.configKeys()));
        all.put("broker", definitions(broker.configKeys()));
        Object dynamicKeys = first(
            "org.apache.kafka.server.config.DynamicConfig$Broker", "configKeys",
            "kafka.server.DynamicConfig$Broker$", "configKeys",
            "kafka.server.DynamicConfig$Broker$", "brokerConfigDef");
        Map<String, ConfigDef.ConfigKey> dynamic = new TreeMap<>();
        List<Object> checked = new ArrayList<>();
        for (Map.Entry<?, ?> entry : (dynamicKeys instanceof ConfigDef d ? d.configKeys() : (Map<?, ?>) dynamicKeys).entrySet()) {
            String name = (String) entry.getKey();
            checked.add(name);
            if (!broker.configKeys().containsKey(name)) dynamic.put(name, (ConfigDef.ConfigKey) entry.getValue());
        }
        all.put("broker_dynamic_only", definitions(dynamic));
        all.put("checked", checked);
        if (has("org.apache.kafka.coordinator.group.GroupConfig")) {
            all.put("group", definitions(section("group").configKeys()));
            if (has("org.apache.kafka.coordinator.group.GroupConfig", "ALL_GROUP_CONFIG_SYNONYMS")) {
                Map<String, Object> synonyms = new TreeMap<>();
                Map<?, ?> found = (Map<?, ?>) first("org.apache.kafka.coordinator.group.GroupConfig", "ALL_GROUP_CONFIG_SYNONYMS");
                found.forEach((key, value) -> synonyms.put((String) key, ((Optional<?>) value).orElse(null)));
                all.put("group_synonyms", synonyms);
            }
        }
        if (has("org.apache.kafka.server.metrics.ClientMetricsConfigs")) {
            all.put("client_metrics", definitions(section("client_metrics").configKeys()));
        }
        all.put("topic_synonyms", sorted((Map<?, ?>) javaMap(first(
            "org.apache.kafka.server.config.ServerTopicConfigSynonyms", "TOPIC_CONFIG_SYNONYMS",
            "kafka.log.LogConfig$", "TopicConfigSynonyms"))));
        dynamicClasses(all, broker, dynamic.keySet());
        StringBuilder text = new StringBuilder();
        write(all, text);
        System.out.println(text);
    }

    static void verdicts() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        Method parse = ConfigDef.class.getDeclaredMethod("parseValue", ConfigDef.ConfigKey.class, Object.class, boolean.class);
        parse.setAccessible(true);
        Map<String, ConfigDef> sections = new HashMap<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            if (!sections.containsKey(parts[0])) sections.put(parts[0], section(parts[0]));
            ConfigDef definitions = sections.get(parts[0]);
            try {
                parse.invoke(definitions, definitions.configKeys().get(text(parts[1])), text(parts[2]), true);
                out.println("ok");
            } catch (InvocationTargetException thrown) {
                String said = String.valueOf(thrown.getCause().getMessage());
                out.println(Base64.getEncoder().encodeToString(said.getBytes(StandardCharsets.UTF_8)));
            }
        }
        out.flush();
    }

    static String text(String encoded) {
        return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    }

    static ConfigDef section(String name) throws Exception {
        return (ConfigDef) switch (name) {
            case "topic" -> first(
                "org.apache.kafka.storage.internals.log.LogConfig", "configDefCopy", "kafka.log.LogConfig$", "configDefCopy");
            case "broker" -> first(
                "org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF", "kafka.server.KafkaConfig$", "configDef");
            case "group" -> first(
                "org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF",
                "org.apache.kafka.coordinator.group.GroupConfig", "configDef");
            default -> first("org.apache.kafka.server.metrics.ClientMetricsConfigs", "configDef");
        };
    }

    /** Adds which broker configs may be changed and how, by running the broker's own checks on all keys. */
    static void dynamicClasses(Map<String, Object> all, ConfigDef broker, Set<String> more) throws Exception {
        String java = "org.apache.kafka.server.config.DynamicBrokerConfig", scala = "kafka.server.DynamicBrokerConfig$";
        Properties everything = new Properties();
        for (String name : broker.configKeys().keySet()) everything.put(name, "");
        for (String name : more) everything.put(name, "");
        String holder = has(java) ? java : scala;
        String prefix = has(java) ? "" : "kafka$server$DynamicBrokerConfig$$";
        all.put("dynamic", new TreeSet<>(strings(first(java, "ALL_DYNAMIC_CONFIGS", scala, "AllDynamicConfigs"))));
        all.put("per_broker", new TreeSet<>(strings(call(holder, prefix + "perBrokerConfigs", everything))));
        all.put("not_dynamic", new TreeSet<>(strings(call(holder, prefix + "nonDynamicConfigs", everything))));
        all.put("per_listener", new TreeSet<>(strings(call(holder, prefix + "securityConfigsWithoutListenerPrefix", everything))));
        all.put("listener_mechanism", new TreeSet<>(strings(first(
            java, "LISTENER_MECHANISM_CONFIGS", scala, "ListenerMechanismConfigs"))));
        all.put("cluster_level_listener", new TreeSet<>(strings(first(
            java, "CLUSTER_LEVEL_LISTENER_CONFIGS", scala, "ClusterLevelListenerConfigs"))));
        Map<String, Object> synonyms = new TreeMap<>();
        for (String name : broker.configKeys().keySet()) {
            List<String> names = strings(call(holder, "brokerConfigSynonyms", name, false));
            if (names.size() > 1) synonyms.put(name, names);
        }
        all.put("broker_synonyms", synonyms);
    }

    /** Returns the definitions in Kafka's order, in which it also checks values. */
    static Object definitions(Map<String, ConfigDef.ConfigKey> keys) throws Exception {
        Map<String, Object> result = new LinkedHashMap<>();
        for (ConfigDef.ConfigKey key : keys.values()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("type", key.type.name());
            if (key.hasDefault()) one.put("default", key.defaultValue == null ? null : ConfigDef.convertToString(key.defaultValue, key.type));
            if (key.validator != null) one.put("valid", validator(key.validator));
            if (key.internalConfig) one.put("internal", true);
            one.put("documentation", key.documentation);
            result.put(key.name, one);
        }
        return result;
    }

    static Object validator(Object validator) throws Exception {
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("kind", validator.getClass().getSimpleName());
        for (Field field : validator.getClass().getDeclaredFields()) {
            if (java.lang.reflect.Modifier.isStatic(field.getModifiers())) continue;
            field.setAccessible(true);
            Object value = field.get(validator);
            if (value instanceof Number || value instanceof Boolean) one.put(field.getName(), value);
            else if (value instanceof ConfigDef.Validator) one.put(field.getName(), validator(value));
            else if (value instanceof Collection<?> items) {
                List<Object> parts = new ArrayList<>();
                for (Object item : items) parts.add(item instanceof ConfigDef.Validator ? validator(item) : String.valueOf(item));
                one.put(field.getName(), parts);
            }
        }
        String shown = validator.toString();
        if (!shown.contains("@")) one.put("text", shown);
        return one;
    }

    /** Returns the value of the first member that exists. pairs: a class and its static member, or a Scala object's. */
    static Object first(String... pairs) throws Exception {
        for (int at = 0; at < pairs.length; at += 2) {
            if (!has(pairs[at])) continue;
            Class<?> holder = Class.forName(pairs[at]);
            Object self = pairs[at].endsWith("$") ? holder.getField("MODULE$").get(null) : null;
            for (Method method : holder.getDeclaredMethods()) {
                if (method.getName().equals(pairs[at + 1]) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(self);
                }
            }
            for (Field field : holder.getDeclaredFields()) {
                if (field.getName().equals(pairs[at + 1])) {
                    field.setAccessible(true);
                    return field.get(self);
                }
            }
        }
        throw new IllegalStateException("none of " + Arrays.toString(pairs));
    }

    static Object call(String name, String member, Object... arguments) throws Exception {
        Class<?> holder = Class.forName(name);
        Object self = name.endsWith("$") ? holder.getField("MODULE$").get(null) : null;
        for (Method method : holder.getDeclaredMethods()) {
            if (method.getName().equals(member) && method.getParameterCount() == arguments.length) {
                method.setAccessible(true);
                return method.invoke(self, arguments);
            }
        }
        throw new IllegalStateException(name + " has no " + member);
    }

    static boolean has(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException | NoClassDefFoundError missing) {
            return false;
        }
    }

    static boolean has(String name, String field) throws Exception {
        for (Field each : Class.forName(name).getDeclaredFields()) if (each.getName().equals(field)) return true;
        return false;
    }

    static Object javaMap(Object map) throws Exception {
        if (map instanceof Map<?, ?>) return map;
        Map<Object, Object> result = new TreeMap<>();
        for (Object pair : iterate(map)) {
            result.put(pair.getClass().getMethod("_1").invoke(pair), pair.getClass().getMethod("_2").invoke(pair));
        }
        return result;
    }

    static Map<String, Object> sorted(Map<?, ?> map) {
        Map<String, Object> result = new TreeMap<>();
        map.forEach((key, value) -> result.put((String) key, value));
        return result;
    }

    static List<String> strings(Object items) throws Exception {
        List<String> result = new ArrayList<>();
        for (Object item : items instanceof Iterable<?> own ? own : iterate(items)) result.add((String) item);
        return result;
    }

    /** Returns the elements of a Scala collection. */
    static List<Object> iterate(Object items) throws Exception {
        Class<?> collection = Class.forName("scala.collection.Iterable");
        Class<?> iterator = Class.forName("scala.collection.Iterator");
        Object at = collection.getMethod("iterator").invoke(items);
        List<Object> result = new ArrayList<>();
        while ((Boolean) iterator.getMethod("hasNext").invoke(at)) result.add(iterator.getMethod("next").invoke(at));
        return result;
    }

    static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            String comma = "";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(comma);
                write(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out);
                comma = ",";
            }
            out.append('}');
        } else if (value instanceof Collection<?> items) {
            out.append('[');
            String comma = "";
            for (Object item : items) {
                out.append(comma);
                write(item, out);
                comma = ",";
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            out.append('"');
            for (char letter : value.toString().toCharArray()) {
                if (letter == '"' || letter == '\\') out.append('\\').append(letter);
                else if (letter < 0x20 || letter > 0x7e) out.append(String.format("\\u%04x", (int) letter));
                else out.append(letter);
            }
            out.append('"');
        }
    }
}
