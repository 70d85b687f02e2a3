/* Memory that is mapped so that it is written later, or at an address of the program's choice, is shared by threads.
   "huge" and "fixed" map what would not be, "thread" does in a thread; "file" maps a file in one. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
static const int rights = PROT_READ | PROT_WRITE, private = MAP_PRIVATE | MAP_ANONYMOUS;
static const size_t page = 4096;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long *counters[5];
static const char *how = "";
static int file;
static void huge(void) {
  char *all = mmap(NULL, (size_t)64 << 30, PROT_NONE, private | MAP_NORESERVE, -1, 0);
  assert(all != MAP_FAILED && !mprotect(all + page, page, rights));
  all[page] = 1;
}
static void fixed(void) {
  char *own = mmap((void *)0x0f0000000000, page, rights, private | MAP_FIXED_NOREPLACE, -1, 0);
  assert(own != MAP_FAILED);
  *own = 1;
}
static void *work(void *id) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    /* Mapped by the first thread, when the others are there. */
    if (!counters[4]) counters[4] = mmap(NULL, page, rights, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int n = 0; n < 5; n++) ++*counters[n];
    pthread_mutex_unlock(&lock);
  }
  if (!strcmp(how, "thread")) huge();
  if (!strcmp(how, "file")) {
    static char *text;
    pthread_mutex_lock(&lock);
    if (text) assert(*text == 's');
    else text = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);
    pthread_mutex_unlock(&lock);
  }
  return id;
}
int main(int count, char **arguments) {
  start(count, arguments);
  how = count > 3 ? arguments[3] : "";
  char name[] = "/tmp/fyris-mappings-XXXXXX", *all = mmap(NULL, 64 * page, PROT_NONE, private, -1, 0);
  file = mkstemp(name);
  assert(file >= 0 && write(file, "some text", 9) == 9 && !unlink(name));
  counters[0] = mmap(all, page, rights, private | MAP_FIXED, -1, 0);
  assert((char *)counters[0] == all && !mprotect(all + page, page, rights));
  counters[1] = (long *)(all + page);
  counters[2] = mmap(NULL, page, PROT_READ, private, -1, 0);
  assert(!mprotect(counters[2], page, rights));
  counters[3] = mmap(NULL, page, rights, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char *text = mmap(all + 2 * page, page, rights, MAP_PRIVATE | MAP_FIXED, file, 0);
  assert(text == all + 2 * page && !strcmp(text, "some text"));
  if (!strcmp(how, "huge")) huge();
  if (!strcmp(how, "fixed")) fixed();
  run(work);
  for (int n = 0; n < 5; n++) printf("%ld\n", *counters[n]);
  assert(mmap(all, page, rights, private | MAP_FIXED, -1, 0) == all && !*all && text[0] == 's');
  printf("all good\n");
}
