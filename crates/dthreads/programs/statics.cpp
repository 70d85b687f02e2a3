// A static variable of a function, which four threads ask for at once: it is made once, after an attempt that throws.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>
static int attempts;
static std::mutex lock;
struct Made {
  Made() {
    usleep(1000);
    if (++attempts == 1) throw std::runtime_error("not yet");
  }
  int users = 0;
};
static Made &made() {
  static Made one;
  return one;
}
static void use() {
  try {
    Made &it = made();
    std::lock_guard<std::mutex> held(lock);
    it.users++;
  } catch (const std::runtime_error &) {
    use();
  }
}
int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; i++) all.emplace_back(use);
  for (auto &thread : all) thread.join();
  std::printf("%d attempts, %d users\n", attempts, made().users);
}
