import java.io.BufferedWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs one SELECT over the frozen events, in streaming mode on one task, and writes its final table.
 *
 * <p>{@code NexmarkSql TABLES EVENTS QUERY ROWS [KEY,...]} writes a row a line, as JSON, sorted; what
 * the query took back is gone. With a key, only the last row of each key is kept. {@code ROWS} =
 * {@code -} throws the rows away instead, inside of Flink, to measure. Prints what it did as JSON.
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
      discard(table);
    } else {
      List<String> key = arguments.length < 5 ? List.of() : Arrays.asList(arguments[4].split(","));
      collect(table, key, Path.of(arguments[3]));
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

  private static void discard(Table table) throws Exception {
    table.insertInto(TableDescriptor.forConnector("blackhole").build()).execute().await();
    System.out.println("{}");
  }

  private static void collect(Table table, List<String> key, Path file) throws Exception {
    TableResult result = table.execute();
    List<String> names = result.getResolvedSchema().getColumnNames();
    Changes changes = new Changes(names, key);
    try (CloseableIterator<Row> iterator = result.collect()) {
      while (iterator.hasNext()) {
        changes.apply(iterator.next());
      }
    }
    try (BufferedWriter writer = Files.newBufferedWriter(file)) {
      for (String row : changes.rows()) {
        writer.write(row);
        writer.write('\n');
      }
    }
    StringBuilder said = new StringBuilder("{\"columns\":[");
    for (int i = 0; i < names.size(); i++) {
      said.append(i == 0 ? "[" : ",[");
      text(names.get(i), said);
      said.append(',');
      text(result.getResolvedSchema().getColumnDataTypes().get(i).toString(), said);
      said.append(']');
    }
    said.append("],\"changes\":{");
    String separator = "";
    for (Map.Entry<String, Long> entry : changes.kinds.entrySet()) {
      said.append(separator).append('"').append(entry.getKey()).append("\":").append(entry.getValue());
      separator = ",";
    }
    System.out.println(said.append("}}"));
  }

  /** What is left of a changelog: a multiset of rows, and the last row of each key. */
  private static final class Changes {
    private final List<String> names;
    private final List<String> key;
    private final Map<String, Integer> counts = new HashMap<>();
    private final Map<List<Object>, String> latest = new HashMap<>();
    /** How many changes of each kind there were. */
    final Map<String, Long> kinds = new TreeMap<>();

    Changes(List<String> names, List<String> key) {
      this.names = names;
      this.key = key;
    }

    void apply(Row row) {
      RowKind kind = row.getKind();
      kinds.merge(kind.shortString(), 1L, Long::sum);
      boolean added = kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER;
      String text = json(names, row);
      counts.merge(text, added ? 1 : -1, Integer::sum);
      List<Object> values = new ArrayList<>();
      key.forEach(column -> values.add(row.getField(names.indexOf(column))));
      if (added) {
        latest.put(values, text);
      } else if (kind == RowKind.DELETE) {
        // What has been replaced already isn't taken away by the old row's end.
        latest.remove(values, text);
      }
    }

    /** The rows that are left, sorted. */
    List<String> rows() {
      boolean updates = kinds.containsKey("+U") || kinds.containsKey("-D");
      if (updates && key.isEmpty()) {
        throw new IllegalStateException("the query updates its rows: say by which columns");
      }
      List<String> keyed = sorted(latest.values());
      // A changelog may leave out the rows that are replaced; then only the keys tell.
      if (kinds.containsKey("+U") && !kinds.containsKey("-U")) {
        return keyed;
      }
      List<String> rows = new ArrayList<>();
      for (Map.Entry<String, Integer> entry : counts.entrySet()) {
        if (entry.getValue() < 0) {
          throw new IllegalStateException("taken back and never there: " + entry.getKey());
        }
        rows.addAll(Collections.nCopies(entry.getValue(), entry.getKey()));
      }
      rows = sorted(rows);
      if (!key.isEmpty() && !rows.equals(keyed)) {
        throw new IllegalStateException("the columns " + key + " are no key");
      }
      return rows;
    }

    private static List<String> sorted(Collection<String> rows) {
      List<String> sorted = new ArrayList<>(rows);
      Collections.sort(sorted);
      return sorted;
    }
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
