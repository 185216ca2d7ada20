import com.sun.tools.attach.VirtualMachine;
import java.util.Set;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Reads the request metrics of running brokers, kafka.network:type=RequestMetrics, by attaching to their processes.
 * For each process id, a line of standard input, it writes a line for each API, and an empty line at the end. A line
 * has the API, the number of requests since the broker's start, and their total milliseconds in the queue for a
 * request handler, in the handler, and from receipt to response.
 */
public class RequestTimes {
    static final String METRICS = "kafka.network:type=RequestMetrics,";

    public static void main(String[] arguments) throws Exception {
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String pid; (pid = lines.readLine()) != null; ) {
            VirtualMachine machine = VirtualMachine.attach(pid);
            String address = machine.startLocalManagementAgent();
            machine.detach();
            try (var connector = JMXConnectorFactory.connect(new JMXServiceURL(address))) {
                write(connector.getMBeanServerConnection());
            }
            System.out.println();
            System.out.flush();
        }
    }

    static void write(MBeanServerConnection server) throws Exception {
        Set<ObjectName> names = server.queryNames(new ObjectName(METRICS + "name=LocalTimeMs,request=*"), null);
        for (ObjectName name : names) {
            String api = name.getKeyProperty("request");
            long count = (Long) server.getAttribute(name, "Count");
            if (count == 0) continue;
            System.out.println(api + " " + count + " " + total(server, "RequestQueueTimeMs", api) + " "
                + total(server, "LocalTimeMs", api) + " " + total(server, "TotalTimeMs", api));
        }
    }

    /** Returns the sum of a histogram's values: its mean is that of all values since the broker's start. */
    static double total(MBeanServerConnection server, String metric, String api) throws Exception {
        ObjectName name = new ObjectName(METRICS + "name=" + metric + ",request=" + api);
        return (Long) server.getAttribute(name, "Count") * (Double) server.getAttribute(name, "Mean");
    }
}
