import java.lang.reflect.Method;
import java.util.*;

/**
 * Writes the feature levels of the Kafka on the class path as JSON: for each level its release, whether the metadata
 * log's format changed with it, and the levels of other features that it needs. Levels only for tests are left out.
 */
public class FeatureLevels {
    public static void main(String[] arguments) throws Exception {
        List<String> features = new ArrayList<>(List.of(metadata()));
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.server.common.Feature");
        } catch (ClassNotFoundException before4) {
            type = Class.forName("org.apache.kafka.server.common.Features");
        }
        for (Object feature : type.getEnumConstants()) {
            String name = (String) call(feature, "featureName");
            if (!name.contains("test")) features.add(levels(name, feature));
        }
        System.out.println("{" + String.join(",", features) + "}");
    }

    static String metadata() throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.server.common.MetadataVersion");
        List<String> levels = new ArrayList<>();
        for (Object version : type.getEnumConstants()) {
            short level = (short) call(version, "featureLevel");
            if (level > 0 && (boolean) call(version, "isProduction"))
                levels.add(String.format("\"%d\":{\"name\":\"%s\",\"changed\":%b,\"needs\":{}}",
                    level, call(version, "version"), call(version, "didMetadataChange")));
        }
        return "\"metadata.version\":{" + String.join(",", levels) + "}";
    }

    static String levels(String name, Object feature) throws Exception {
        short last = (short) call(feature, "latestProduction");
        List<String> levels = new ArrayList<>();
        for (Object version : (Object[]) call(feature, "featureVersions")) {
            short level = (short) call(version, "featureLevel");
            if (level <= 0 || level > last) continue;
            List<String> needs = new ArrayList<>();
            ((Map<?, ?>) call(version, "dependencies")).forEach((other, least) ->
                needs.add(String.format("\"%s\":%s", other, least)));
            Object bootstrap = call(version, "bootstrapMetadataVersion");
            levels.add(String.format("\"%d\":{\"name\":\"%s\",\"changed\":true,\"needs\":{%s}}",
                level, call(bootstrap, "version"), String.join(",", needs)));
        }
        return "\"" + name + "\":{" + String.join(",", levels) + "}";
    }

    static Object call(Object object, String method) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Method found = type.getDeclaredMethod(method);
                found.setAccessible(true);
                return found.invoke(object);
            } catch (NoSuchMethodException inherited) {
                continue;
            }
        }
        throw new NoSuchMethodException(method);
    }
}
