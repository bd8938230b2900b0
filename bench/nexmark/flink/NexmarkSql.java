import java.io.BufferedWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs one SELECT over the frozen events, in streaming mode on one task, and writes its final table.
 *
 * <p>{@code NexmarkSql TABLES EVENTS QUERY ROWS} writes a row a line, as JSON, sorted; what the
 * query took back is gone. {@code ROWS} = {@code -} throws the rows away instead, inside of Flink,
 * to measure. Prints what it did as JSON.
 */
public final class NexmarkSql {
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS");

  private NexmarkSql() {}

  public static void main(String[] arguments) throws Exception {
    String tables = read(arguments[0]).replace("${EVENTS}", "file://" + arguments[1]);
    String query = withoutComments(read(arguments[2]));
    TableEnvironment environment = environment();
    for (String statement : withoutComments(tables).split(";")) {
      if (!statement.isBlank()) {
        environment.executeSql(statement);
      }
    }
    Table table = environment.sqlQuery(query);
    if (arguments[3].equals("-")) {
      discard(environment, table);
    } else {
      collect(table, Path.of(arguments[3]));
    }
  }

  /** Streaming, one task a step, in this process. */
  private static TableEnvironment environment() {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("table.local-time-zone", "UTC");
    configuration.setString("table.exec.resource.default-parallelism", "1");
    return TableEnvironment.create(
        EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(configuration).build());
  }

  private static void discard(TableEnvironment environment, Table table) throws Exception {
    environment.createTemporaryView("result", table);
    environment.executeSql(
        "CREATE TEMPORARY TABLE nothing WITH ('connector' = 'blackhole') LIKE result");
    environment.executeSql("INSERT INTO nothing SELECT * FROM result").await();
    System.out.println("{}");
  }

  /** Applies every change to a multiset of rows, and writes what is left. */
  private static void collect(Table table, Path file) throws Exception {
    TableResult result = table.execute();
    List<String> names = result.getResolvedSchema().getColumnNames();
    Map<String, Integer> rows = new HashMap<>();
    Map<String, Long> changes = new TreeMap<>();
    try (CloseableIterator<Row> iterator = result.collect()) {
      while (iterator.hasNext()) {
        Row row = iterator.next();
        changes.merge(row.getKind().shortString(), 1L, Long::sum);
        boolean added =
            row.getKind() == RowKind.INSERT || row.getKind() == RowKind.UPDATE_AFTER;
        rows.merge(json(names, row), added ? 1 : -1, Integer::sum);
      }
    }
    List<String> sorted = new ArrayList<>();
    for (Map.Entry<String, Integer> entry : rows.entrySet()) {
      if (entry.getValue() < 0) {
        throw new IllegalStateException("taken back and never there: " + entry.getKey());
      }
      sorted.addAll(Collections.nCopies(entry.getValue(), entry.getKey()));
    }
    Collections.sort(sorted);
    try (BufferedWriter writer = Files.newBufferedWriter(file)) {
      for (String row : sorted) {
        writer.write(row);
        writer.write('\n');
      }
    }
    StringBuilder said = new StringBuilder("{\"columns\":{");
    for (int i = 0; i < names.size(); i++) {
      said.append(i == 0 ? "" : ",");
      text(names.get(i), said);
      said.append(':');
      text(result.getResolvedSchema().getColumnDataTypes().get(i).toString(), said);
    }
    said.append("},\"changes\":{");
    String separator = "";
    for (Map.Entry<String, Long> entry : changes.entrySet()) {
      said.append(separator).append('"').append(entry.getKey()).append("\":").append(entry.getValue());
      separator = ",";
    }
    System.out.println(said.append("}}"));
  }

  private static String json(List<String> names, Row row) {
    StringBuilder out = new StringBuilder("{");
    for (int i = 0; i < names.size(); i++) {
      out.append(i == 0 ? "" : ",");
      text(names.get(i), out);
      out.append(':');
      Object value = row.getField(i);
      if (value == null || value instanceof Long || value instanceof Integer) {
        out.append(value);
      } else if (value instanceof BigDecimal decimal) {
        out.append(decimal.toPlainString());
      } else if (value instanceof LocalDateTime time) {
        text(TIME.format(time), out);
      } else if (value instanceof String string) {
        text(string, out);
      } else {
        throw new IllegalStateException("no form for a " + value.getClass());
      }
    }
    return out.append('}').toString();
  }

  private static void text(String text, StringBuilder out) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c > '~') {
        throw new IllegalStateException("the events are plain ASCII, and yet: " + text);
      }
      if (c == '"' || c == '\\') {
        out.append('\\');
      }
      out.append(c);
    }
    out.append('"');
  }

  private static String read(String file) throws Exception {
    return Files.readString(Path.of(file), StandardCharsets.UTF_8);
  }

  private static String withoutComments(String sql) {
    return sql.replaceAll("(?m)^--.*$", "");
  }
}
