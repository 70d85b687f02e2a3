// Futures, promises, tasks, stop tokens and atomic::wait: libstdc++ waits for them by futexes.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
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
static void stops() {
  std::jthread thread([](std::stop_token stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    sum++;
  });
}
int main() {
  std::promise<int> never;
  if (never.get_future().wait_for(10ms) == std::future_status::timeout) sum++;
  for (int round = 0; round < 10; round++) promises(round), tasks(round), waits(), stops();
  printf("%ld\n", sum);
}
