package org.apache.kafka.common.utils;

/** The class that Kafka 4.3's file connectors ask for their version; Kafka 4.4 has it in another package. */
public class AppInfoParser {
    public static String getVersion() {
        return org.apache.kafka.common.utils.internals.AppInfoParser.getVersion();
    }
}
