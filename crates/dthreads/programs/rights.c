/* Rights of pages are those of all threads: what one takes from a page another cannot write, and gives back; code that
   a thread makes all may call. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
static const size_t page = 4096;
static pthread_barrier_t meet;
static char *all;
static int (*code)(void);
static _Thread_local sigjmp_buf back;
static void fault(int signal) { siglongjmp(back, signal); }
static int can_write(char *at) {
  if (sigsetjmp(back, 1)) return 0;
  *(volatile char *)at = *(volatile char *)at;
  return 1;
}
static void make_code(void) {
#if defined __x86_64__
  static const unsigned char bytes[] = {0xb8, 42, 0, 0, 0, 0xc3};
#else
  static const unsigned int bytes[] = {0x52800540, 0xd65f03c0};
#endif
  void *to = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(to != MAP_FAILED);
  memcpy(to, bytes, sizeof bytes);
  __builtin___clear_cache(to, (char *)to + sizeof bytes);
  code = (int (*)(void))to;
}
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    char *own = all + (intptr_t)id * page, *next = all + ((intptr_t)id + 1) % threads * page;
    own[0] = (char)i;
    assert(!mprotect(own, page, i % 2 ? PROT_NONE : PROT_READ));
    if (!id) make_code();
    pthread_barrier_wait(&meet);
    assert(!can_write(next) && code() == 42);
    if (i % 2 == 0) assert(next[0] == (char)i);
    pthread_barrier_wait(&meet);
    assert(!mprotect(next, page, PROT_READ | PROT_WRITE));
    assert(can_write(next) && next[0] == (char)i);
    if (!id) munmap((void *)code, page);
    pthread_barrier_wait(&meet);
  }
  return NULL;
}
int main(int count, char **arguments) {
  start(count, arguments);
  signal(SIGSEGV, fault);
  pthread_barrier_init(&meet, NULL, threads);
  all = mmap(NULL, threads * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(all != MAP_FAILED);
  run(work);
  puts("all good");
}
