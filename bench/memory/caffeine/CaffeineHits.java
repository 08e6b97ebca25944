import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

// The workload of bench/memory against Caffeine, with the protocol of harness.cpp: KEY HOLD ENTRIES STREAM as
// arguments, `trial` commands on standard input. Keys are recipe objects, equal by identity, as interned recipes are.
// Maintenance runs on the thread that asks for it: otherwise its cost would hide on a third thread.
public final class CaffeineHits {
  private static final int THREADS_MAX = 2;
  private static final int INSERT_EVERY = 200;

  private static final class Recipe {}

  private static final class Value {
    final long first, index, c, d, e, f, g, last;

    Value(int i) {
      first = index = c = d = e = f = g = last = i;
    }

    long touch() {
      return first ^ last;
    }
  }

  private static final class Span {
    long begin, end, cpu;
    boolean preempted;
  }

  private final Cache<Recipe, Value> cache;
  private final Recipe[] keys;
  private final int[][] streams = new int[THREADS_MAX][];
  private final int entries;
  private final Worker[] workers = new Worker[THREADS_MAX];
  private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
  private final AtomicInteger arrived = new AtomicInteger();

  private CaffeineHits(int entries, String stream) throws IOException {
    this.entries = entries;
    try (RandomAccessFile file = new RandomAccessFile(stream, "r")) {
      IntBuffer all = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length())
          .order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
      for (int i = 0; i < THREADS_MAX; i++) {
        streams[i] = new int[all.capacity() / THREADS_MAX];
        all.get(streams[i]);
      }
    }
    int capacity = entries + entries / 8;
    keys = new Recipe[entries + entries / 2];
    for (int i = 0; i < keys.length; i++) keys[i] = new Recipe();
    long before = usedBytes();
    cache = Caffeine.newBuilder().maximumSize(capacity).initialCapacity(capacity).executor(Runnable::run).build();
    for (int i = 0; i < capacity; i++) cache.put(keys[i], new Value(i));
    cache.cleanUp();
    long held = cache.estimatedSize();
    System.out.printf(Locale.ROOT,
        "{\"held\": %d, \"heap_bytes_per_entry\": %.1f, \"resident_bytes_per_entry\": %.1f, "
        + "\"heap_bytes_per_key\": 0, \"resident_bytes_per_key\": 0}%n",
        held, (usedBytes() - before) / (double) held, (usedBytes() - before) / (double) held);
    System.out.flush();
    for (int i = 0; i < THREADS_MAX; i++) workers[i] = new Worker(i);
  }

  private static long usedBytes() {
    System.gc();
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  private static long preemptions() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
        if (line.startsWith("nonvoluntary_ctxt_switches:")) return Long.parseLong(line.substring(27).trim());
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return 0;
  }

  private final class Worker {
    final int me;
    int position, untilInsert = INSERT_EVERY, coldNext;
    long refills, checksum;
    Span[] spans = new Span[0];

    Worker(int me) {
      this.me = me;
    }

    void pass(boolean dependent, boolean inserts, int operations) {
      final int[] stream = streams[me];
      final int coldCount = entries / 2 / THREADS_MAX;
      final int coldFirst = entries + me * coldCount;
      long link = 0, sum = 0;
      for (int i = 0; i < operations; i++) {
        int next = stream[position];
        if (++position == stream.length) position = 0;
        if (inserts && --untilInsert == 0) {
          untilInsert = INSERT_EVERY;
          int cold = coldFirst + coldNext;
          if (++coldNext == coldCount) coldNext = 0;
          if (cache.getIfPresent(keys[cold]) == null) cache.put(keys[cold], new Value(cold));
          continue;
        }
        int index = dependent ? next + (int) link : next;
        Value value = cache.getIfPresent(keys[index]);
        if (value == null) {
          cache.put(keys[index], new Value(index));
          refills++;
        } else if (dependent) {
          link = value.touch();
        } else {
          sum += value.touch();
        }
      }
      checksum += sum + link;
    }

    void work(int threads, boolean dependent, boolean inserts, int warm, int operations, int chunk) {
      settle(me, threads);
      pass(dependent, inserts, warm);
      spans = new Span[operations / chunk];
      for (int i = 0; i < spans.length; i++) {
        Span span = spans[i] = new Span();
        meet(threads, 2 * i + 1);
        long before = preemptions();  // slow: they meet again after it
        meet(threads, 2 * i + 2);
        span.begin = System.nanoTime();
        long cpu = clock.getCurrentThreadCpuTime();
        pass(dependent, inserts, chunk);
        span.cpu = clock.getCurrentThreadCpuTime() - cpu;
        span.end = System.nanoTime();
        span.preempted = preemptions() != before;
      }
    }
  }

  // As settle in harness.cpp; Java leaves such wishes to commands.
  private static void settle(int me, int threads) {
    try {
      String thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
      if (threads == 2) new ProcessBuilder("taskset", "-pc", Integer.toString(me), thread).start().waitFor();
      if (System.getenv("LARDER_BENCH_REALTIME") != null) {
        new ProcessBuilder("chrt", "-f", "-p", "1", thread).start().waitFor();
      }
    } catch (IOException | InterruptedException e) {
      System.err.println("not settled: " + e);
    }
  }

  private void meet(int threads, int times) {
    if (threads == 1) return;
    arrived.incrementAndGet();
    while (arrived.get() < threads * times) Thread.onSpinWait();
  }

  private void trial(int threads, boolean dependent, boolean inserts, int warm, int operations, int chunk)
      throws InterruptedException {
    arrived.set(0);
    Thread[] running = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      Worker worker = workers[i];
      running[i] = new Thread(() -> worker.work(threads, dependent, inserts, warm, operations, chunk));
      running[i].start();
    }
    for (Thread thread : running) thread.join();
    long total = 0;
    int accepted = 0;
    Span[] spans = workers[0].spans;
    for (int i = 0; i < spans.length; i++) {
      Span a = spans[i];
      Span b = threads == 2 ? workers[1].spans[i] : a;
      long slower = threads == 2 ? Math.max(a.end - a.begin, b.end - b.begin) : a.cpu;
      if (a.preempted || b.preempted || Math.abs(a.begin - b.begin) * 20 > slower) continue;
      total += slower;
      accepted++;
    }
    long refills = 0;
    for (Worker worker : workers) {
      refills += worker.refills;
      worker.refills = 0;
    }
    double asked = (double) (warm + operations) * threads;
    System.out.printf(Locale.ROOT, "{\"ns\": %.3f, \"chunks\": %d, \"accepted\": %d, \"refills\": %.6f}%n",
        accepted == 0 ? 0.0 : total / (double) ((long) accepted * chunk), spans.length, accepted, refills / asked);
    System.out.flush();
  }

  public static void main(String[] args) throws Exception {
    if (args.length == 1 && args[0].equals("--list")) {
      System.out.println("Caffeine (Java)\tinterned\treference");
      return;
    }
    CaffeineHits hits = new CaffeineHits(Integer.parseInt(args[2]), args[3]);
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = commands.readLine()) != null;) {
      String[] words = line.split(" ");
      hits.trial(Integer.parseInt(words[1]), words[2].equals("dependent"), words[3].equals("inserts"),
          Integer.parseInt(words[4]), Integer.parseInt(words[5]), Integer.parseInt(words[6]));
    }
    if (hits.workers[0].checksum + hits.workers[1].checksum != 0) throw new IllegalStateException("a value changed");
  }
}
