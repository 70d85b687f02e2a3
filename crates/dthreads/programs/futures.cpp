// Futures, promises, tasks, stop tokens, latches, barriers, semaphores, shared pointers and atomic::wait: libstdc++
// makes them of atomic operations, and waits by futexes.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <future>
#include <latch>
#include <linux/futex.h>
#include <memory>
#include <semaphore>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>
using namespace std::chrono_literals;
static long sum;
static void promises(int round) {
  std::promise<int> first, second;
  auto one = first.get_future(), two = second.get_future();
  std::thread gives([&] { first.set_value(round); });
  std::thread takes([&] { sum += two.get(); });
  sum += one.get();
  second.set_value(100);
  gives.join(), takes.join();
}
static void tasks(int round) {
  std::packaged_task<int()> task([round] { return round; });
  auto result = task.get_future();
  std::thread runs(std::move(task));
  sum += result.get();
  runs.join();
  auto late = std::async(std::launch::async, [] { return 7; });
  while (late.wait_for(1ms) != std::future_status::ready) continue;
  sum += late.get();
}
static void waits() {
  std::atomic<int> word{0};
  std::atomic<bool> flag{false};
  std::thread answers([&] {
    word.wait(0);
    flag.store(true);
    flag.notify_all();
  });
  word.store(1);
  word.notify_one();
  flag.wait(false);
  sum += word + flag;
  answers.join();
}
// Whoever changes the word sees no thread that waits, and wakes none.
static void unseen() {
  std::atomic<int> word{0}, waiting{0};
  std::thread waits([&] {
    waiting.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (!word.load(std::memory_order_relaxed)) syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr);
  });
  std::this_thread::yield();
  word.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (waiting.load(std::memory_order_relaxed)) syscall(SYS_futex, &word, FUTEX_WAKE, 1);
  waits.join();
}
static void stops() {
  std::jthread thread([](std::stop_token stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    sum++;
  });
}
static void meets() {
  std::latch begun(4);
  std::barrier together(4);
  std::counting_semaphore<2> two(2);
  std::atomic<int> inside{0}, most{0}, done{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      begun.arrive_and_wait();
      for (int round = 0; round < 3; round++) {
        two.acquire();
        int now = ++inside, known = most;
        while (now > known && !most.compare_exchange_weak(known, now)) continue;
        inside--;
        two.release();
        together.arrive_and_wait();
        done++;
      }
    });
  threads.clear();
  sum += done + (most <= 2);
}
struct Counted {
  static inline int destroyed;
  ~Counted() { destroyed++; }
};
static void shares() {
  std::vector<std::jthread> threads;
  auto counted = std::make_shared<Counted>();
  for (int i = 0; i < 4; i++)
    threads.emplace_back([counted] {
      for (int round = 0; round < 5; round++) auto copy = counted;
    });
  counted.reset();
  threads.clear();
  sum += 1000 * Counted::destroyed;
}
int main() {
  std::promise<int> never;
  if (never.get_future().wait_for(10ms) == std::future_status::timeout) sum++;
  for (int round = 0; round < 10; round++) promises(round), tasks(round), waits(), unseen(), stops(), meets(), shares();
  printf("%ld\n", sum);
}
