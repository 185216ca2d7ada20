package org.apache.kafka.common.utils;

/** The place where the connectors for files of Kafka 4.3 look their version up. Kafka 4.4 has the class elsewhere. */
public class AppInfoParser {
    public static String getVersion() {
        return org.apache.kafka.common.utils.internals.AppInfoParser.getVersion();
    }
}
