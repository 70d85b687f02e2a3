// A function of std::call_once that throws the first time: the next thread runs it again, and nobody waits for ever.
#include <cstdio>
#include <mutex>
#include <thread>

static std::once_flag once;
static int calls;

static void run() {
  try {
    std::call_once(once, [] {
      if (calls++ == 0) throw 1;
    });
  } catch (int) {
    std::puts("thrown");
  }
}

int main() {
  std::thread first(run), second(run), third(run);
  first.join();
  second.join();
  third.join();
  std::printf("%d calls\n", calls);
  return calls != 2;
}
