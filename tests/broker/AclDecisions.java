import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/**
 * Decides requests with Kafka's own authorizer. It reads lines with fields separated by tabs: "set OPEN SUPER;USERS"
 * begins a set of ACLs, and "acl TYPE NAME PATTERN PRINCIPAL HOST OPERATION PERMISSION" adds one. For "ask PRINCIPAL
 * HOST OPERATION TYPE NAME" it prints "ALLOWED|DENIED RULE"; RULE is the place of the ACL in its set, or -1. For "any
 * PRINCIPAL HOST OPERATION TYPE" it prints ALLOWED or DENIED.
 */
public class AclDecisions {
    private static final Metrics METRICS = new Metrics();
    private static AutoCloseable counted = () -> { };
    private static StandardAuthorizer authorizer;
    private static final List<StandardAcl> acls = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter answers = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "set" -> begin(words[1], words[2]);
                case "acl" -> add(words);
                case "ask" -> answers.write(decision(words) + "\n");
                default -> answers.write(somewhere(words) + "\n");
            }
        }
        answers.flush();
    }

    private static void begin(String open, String superUsers) throws Exception {
        authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of(
            StandardAuthorizer.SUPER_USERS_CONFIG, superUsers,
            StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, open,
            "node.id", "1"));
        count(authorizer);
        authorizer.completeInitialLoad();
        acls.clear();
    }

    /** Gives the authorizer metrics, which newer releases require. Older releases have no such method. */
    private static void count(StandardAuthorizer counting) throws Exception {
        for (Method method : StandardAuthorizer.class.getMethods()) {
            if (method.getName().equals("withPluginMetrics")) {
                counted.close();
                Class<?> metrics = Class.forName("org.apache.kafka.common.metrics.internals.PluginMetricsImpl");
                Object made = metrics.getConstructor(Metrics.class, Map.class).newInstance(METRICS, Map.of());
                counted = (AutoCloseable) made;
                method.invoke(counting, made);
            }
        }
    }

    private static void add(String[] words) {
        StandardAcl acl = new StandardAcl(ResourceType.valueOf(words[1]), words[2], PatternType.valueOf(words[3]),
            words[4], words[5], AclOperation.valueOf(words[6]), AclPermissionType.valueOf(words[7]));
        authorizer.addAcl(Uuid.randomUuid(), acl);
        acls.add(acl);
    }

    private static String decision(String[] words) throws Exception {
        Context context = new Context(words[1], words[2]);
        Action action = new Action(AclOperation.valueOf(words[3]),
            new ResourcePattern(ResourceType.valueOf(words[4]), words[5], PatternType.LITERAL), 1, false, false);
        String result = authorizer.authorize(context, List.of(action)).get(0).toString();
        return result + "\t" + rule(context, action);
    }

    private static String somewhere(String[] words) throws Exception {
        return authorizer.authorizeByResourceType(new Context(words[1], words[2]), AclOperation.valueOf(words[3]),
            ResourceType.valueOf(words[4])).toString();
    }

    /** Returns the place of the ACL that the audit log names, or -1. StandardAuthorizerData finds it privately. */
    private static int rule(Context context, Action action) throws Exception {
        Field field = StandardAuthorizer.class.getDeclaredField("data");
        field.setAccessible(true);
        Object data = field.get(authorizer);
        Method find = data.getClass().getDeclaredMethod("findAclRule", Set.class, String.class, Action.class);
        find.setAccessible(true);
        Object rule = find.invoke(data, Set.of(context.principal(), new KafkaPrincipal("User", "*")),
            context.clientAddress().getHostAddress(), action);
        if (rule == null || !rule.getClass().getSimpleName().equals("MatchingAclRule")) {
            return -1;
        }
        Field acl = rule.getClass().getDeclaredField("acl");
        acl.setAccessible(true);
        return acls.indexOf(acl.get(rule));
    }

    private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        Context(String principal, String address) throws Exception {
            this(new KafkaPrincipal(principal.substring(0, principal.indexOf(':')),
                principal.substring(principal.indexOf(':') + 1)), InetAddress.getByName(address));
        }

        public String listenerName() {
            return "EXTERNAL";
        }

        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.SASL_PLAINTEXT;
        }

        public int requestType() {
            return 0;
        }

        public int requestVersion() {
            return 0;
        }

        public String clientId() {
            return "";
        }

        public int correlationId() {
            return 0;
        }
    }
}
