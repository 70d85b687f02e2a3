/* What libc keeps for itself: the environment is shared, locales and time zones are whole in each thread, and a thread
   begins with nothing of its creator's. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <libintl.h>
#include <locale.h>
#include <time.h>
extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static locale_t utf8;
static long drawn;
static void *begins(void *id) {
  assert(uselocale(0) == LC_GLOBAL_LOCALE && errno == 0 && dlerror() == NULL);
  uselocale(utf8);
  assert(MB_CUR_MAX == 6);
  uselocale(LC_GLOBAL_LOCALE);
  assert(MB_CUR_MAX == 1);
  return id;
}
static void *sets(void *id) {
  for (int i = 0; i < rounds; i++) {
    char name[40], value[40];
    snprintf(name, sizeof name, "FYRIS_%d_%d", (int)(intptr_t)id, i);
    snprintf(value, sizeof value, "%d", i);
    pthread_mutex_lock(&lock);
    assert(setenv(name, "0", 1) == 0 && setenv(name, value, 1) == 0 && setenv(name, "1", 0) == 0);
    assert(!strcmp(getenv(name), value));
    if (i % 3 == 0) assert(unsetenv(name) == 0 && !getenv(name));
    setenv("TZ", i % 2 ? "EST5EDT" : "CET-1CEST", 1);
    time_t now = 0;
    struct tm parts;
    tzset(), localtime_r(&now, &parts);
    strftime(value, sizeof value, "%H %Z", &parts);
    assert(i % 2 ? !strcmp(value, "19 EST") : !strcmp(value, "01 CET"));
    assert(setlocale(LC_ALL, i % 2 ? "C.UTF-8" : "C"));
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
    freelocale(duplocale(own)), freelocale(own);
    pthread_mutex_unlock(&lock);
  }
  setlocale(LC_ALL, "C");
  return NULL;
}
/* What threads register is done at the end, the last first. */
static void first_exit(void) { printf("registered first\n"); }
static void by_thread(void) { printf("registered by a thread\n"); }
static void last_exit(void) { printf("registered last\n"); }
static void *registers_nothing(void *id) { return id; }
static void with_status(int status, void *of) { printf("%d by one of %d\n", status, *(int *)of); }
static void quickly(void) { printf("registered for a quick end\n"), fflush(stdout); }
static void *registers(void *id) {
  pthread_mutex_lock(&lock);
  assert(!atexit(by_thread) && !on_exit(with_status, &threads) && !at_quick_exit(quickly));
  pthread_mutex_unlock(&lock);
  return id;
}
/* Threads that main creates now and then have what it has made meanwhile. */
static void *made_late(void *locale) {
  uselocale((locale_t)locale);
  assert(MB_CUR_MAX == 6 && !strcmp(textdomain(NULL), "fyris"));
  return NULL;
}
static void makes_between(void) {
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, registers_nothing, NULL), pthread_join(thread, NULL);
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
    textdomain("fyris");
    pthread_create(&thread, NULL, made_late, own), pthread_join(thread, NULL);
    freelocale(own);
  }
}
/* Texts that libc returns to one thread are there for all; a locale is freed by whom it may be. */
static const char *texts[3];
static struct tm zoned[2];
static locale_t made;
static void *finds(void *id) {
  time_t now = 0;
  setenv("TZ", "QRS3", 1);
  tzset();
  assert(localtime_r(&now, zoned));
  zoned[1] = zoned[0], zoned[1].tm_isdst = -1;
  assert(mktime(zoned + 1) == 0);
  texts[0] = setlocale(LC_ALL, "C.UTF-8");
  texts[1] = textdomain("fyris-places");
  texts[2] = bindtextdomain("fyris-places", "/tmp");
  made = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
  assert(texts[0] && made);
  return id;
}
static void *frees(void *id) {
  freelocale(made);
  return id;
}
static void finds_and_frees(void) {
  pthread_t thread;
  for (int i = 0; i < 3; i++) {
    pthread_create(&thread, NULL, finds, NULL), pthread_join(thread, NULL);
    assert(!strcmp(zoned[0].tm_zone, "QRS") && !strcmp(zoned[1].tm_zone, "QRS"));
    assert(!strcmp(texts[0], "C.UTF-8") && !strcmp(texts[1], "fyris-places") && !strcmp(texts[2], "/tmp"));
    pthread_create(&thread, NULL, frees, NULL), pthread_join(thread, NULL);
    freelocale(newlocale(LC_ALL_MASK, "C.UTF-8", newlocale(LC_CTYPE_MASK, "C.UTF-8", 0)));
  }
  setlocale(LC_ALL, "C");
}
/* Each number is drawn once: their sum is what one thread would have drawn. */
static void *draws(void *id) {
  long own = 0;
  for (int i = 0; i < rounds; i++) own += rand() % 1000 + random() % 1000;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < rounds; i++) own += (long)(drand48() * 1000) + lrand48() % 1000;
  drawn += own;
  pthread_mutex_unlock(&lock);
  return id;
}
/* Those that are given their numbers go by what lcong48 has set, too. */
static void *multiplies(void *id) {
  unsigned short factors[7] = {1, 2, 3, 5, 6, 7, 11};
  lcong48(factors);
  return id;
}
static void *draws_own(void *id) {
  unsigned short own[3] = {1, 2, (unsigned short)(intptr_t)id};
  long sum = nrand48(own) + jrand48(own) + (long)(erand48(own) * 1000);
  pthread_mutex_lock(&lock);
  drawn += sum;
  pthread_mutex_unlock(&lock);
  return id;
}
/* A thread sees what others have set. */
static void *sees(void *id) {
  time_t now = 0;
  assert(!strcmp(getenv("TZ"), "UTC0") && localtime(&now)->tm_hour == 0);
  return id;
}
int main(int count, char **arguments) {
  start(count, arguments);
  atexit(first_exit);
  utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
  assert(utf8);
  uselocale(utf8);
  dlopen("/no such library", RTLD_NOW);
  errno = EINVAL;
  run(begins);
  run(sets);
  int variables = 0;
  for (char **at = environ; *at; at++) variables += !strncmp(*at, "FYRIS_", 6);
  printf("%d variables, %d forms\n", variables, (int)MB_CUR_MAX);
  makes_between();
  run(registers), atexit(last_exit);
  run(draws);
  static char numbers[64];
  char *before = initstate(7, numbers, sizeof numbers);
  long first = random();
  srand(1), run(draws);
  assert(setstate(before) == numbers), srandom(2), srand48(3), run(draws);
  run(draws_own), run(multiplies), run(draws_own);
  printf("%ld drawn, first %ld, then %ld\n", drawn, first, lrand48());
  static char own[] = "TZ=UTC0";
  assert(putenv(own) == 0 && getenv("TZ") == own + 3 && setenv("A=B", "", 1) == -1 && errno == EINVAL);
  run(sees);
  assert(clearenv() == 0 && !getenv("TZ") && setenv("TZ", "UTC0", 1) == 0);
  run(sees);
  finds_and_frees();
  printf("all good\n");
  if (count > 3) fflush(stdout), quick_exit(0);
}
