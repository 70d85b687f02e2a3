// As streamcluster of PARSEC, in C++: phases of parallel work with many barriers, here of a mutex and a condition
// variable; std::thread, std::mutex, thread_local, std::call_once.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
static int threads = 4, rounds = 100;
static std::mutex ends_lock;
static long ends;
struct Counter {
  long value = 0;
  ~Counter() {
    std::lock_guard<std::mutex> guard(ends_lock);
    ends += value;
  }
};
static thread_local Counter phases;
static thread_local std::string own = "fresh";
class Barrier {
  std::mutex lock;
  std::condition_variable changed;
  int waiting = 0;
  long phase = 0;

public:
  bool wait() {
    std::unique_lock<std::mutex> guard(lock);
    phases.value++;
    long mine = phase;
    if (++waiting == threads) {
      waiting = 0, phase++;
      changed.notify_all();
      return true;
    }
    changed.wait(guard, [&] { return phase != mine; });
    return false;
  }
};
static Barrier barrier;
static std::once_flag once;
static std::vector<double> points, centers, part;
static std::unique_ptr<std::vector<double>> weights;
static void work(int me) {
  if (own != "fresh") abort();
  own = "thread " + std::to_string(me);
  std::call_once(once, [] { weights = std::make_unique<std::vector<double>>(points.size(), 1.5); });
  size_t from = points.size() * me / threads, to = points.size() * (me + 1) / threads;
  for (int round = 0; round < rounds; round++) {
    double sum = 0;
    for (size_t i = from; i < to; i++) {
      double least = 1e300;
      for (double center : centers) least = std::min(least, (points[i] - center) * (points[i] - center));
      sum += least * (*weights)[i];
    }
    part[me] = sum;
    if (barrier.wait()) {
      double all = 0;
      for (double one : part) all += one;
      if (centers.size() > 20) centers.clear();
      centers.push_back(points[(size_t)all % points.size()]);
    }
    barrier.wait();
  }
}
int main(int count, char **arguments) {
  if (count > 1) threads = atoi(arguments[1]);
  if (count > 2) rounds = atoi(arguments[2]);
  uint64_t state = 5;
  for (int i = 0; i < 4000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    points.push_back((double)(state >> 40) / 1000);
  }
  centers.push_back(points[0]), part.resize(threads);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; i++) all.emplace_back(work, i);
  for (auto &one : all) one.join();
  printf("%zu %.6f %ld %s\n", centers.size(), centers.back(), ends, own.c_str());
}
