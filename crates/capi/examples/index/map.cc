// std::map as the index of a Fyris table: in the order of keys, one lock.
//
//     c++ -std=c++17 -O2 -shared -fPIC -I PREFIX/include -o map.so map.cc
//
//     1> T = fyris:new(t, [ordered_set, {index, {library, "/path/to/map.so"}}]).
//
// A red-black tree, as the libraries of C++ have it. The order of keys is that of their bytes, so it serves sets and
// ordered sets, with every operation. Its const members may be called at once, beside each other and not beside a
// writer.

#include <fyris_index.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <new>

namespace {

// The order of memcmp; of a key and one that begins with it the shorter comes first.
struct Before {
  bool operator()(const fyris_index_key &a, const fyris_index_key &b) const noexcept {
    const std::size_t shared = std::min(a.length, b.length);
    const int order = shared == 0 ? 0 : std::memcmp(a.bytes, b.bytes, shared);
    return order != 0 ? order < 0 : a.length < b.length;
  }
};

// A key is kept as Fyris hands it over: its bytes stay where they are until it has been removed, so they are not
// copied.
using Map = std::map<fyris_index_key, std::uint64_t, Before>;

Map &of(void *table) noexcept { return *static_cast<Map *>(table); }

// No exception may leave a function of the interface: where memory ends, it says so by its result.
void *create(std::size_t) noexcept { return new (std::nothrow) Map(); }

void destroy(void *table) noexcept { delete &of(table); }

std::uint64_t get(void *table, const fyris_index_key *key) noexcept {
  const Map &map = of(table);
  const auto found = map.find(*key);
  return found == map.end() ? 0 : found->second;
}

int insert(void *table, const fyris_index_key *key, std::uint64_t word) noexcept try {
  return of(table).emplace(*key, word).second ? 0 : 1;
} catch (const std::exception &) {
  return 2;
}

std::uint64_t remove(void *table, const fyris_index_key *key) noexcept {
  Map &map = of(table);
  const auto found = map.find(*key);
  if (found == map.end()) return 0;
  const std::uint64_t word = found->second;
  map.erase(found);
  return word;
}

std::size_t length(void *table) noexcept { return of(table).size(); }

// A node an entry, with three links and a colour: an estimate.
std::size_t memory(void *table) noexcept {
  return sizeof(Map) + of(table).size() * (sizeof(Map::value_type) + 4 * sizeof(void *));
}

// Writes the words from one place to another, as many as there is room for.
template <class Place>
std::size_t write(Place place, Place end, std::uint64_t *words, std::size_t most) noexcept {
  std::size_t written = 0;
  for (; place != end && written < most; ++place) words[written++] = place->second;
  return written;
}

std::size_t above(void *table, const fyris_index_key *from, int inclusive, std::uint64_t *words,
                  std::size_t most) noexcept {
  const Map &map = of(table);
  auto place = map.begin();
  if (from != nullptr) place = inclusive ? map.lower_bound(*from) : map.upper_bound(*from);
  return write(place, map.end(), words, most);
}

std::size_t below(void *table, const fyris_index_key *from, int inclusive, std::uint64_t *words,
                  std::size_t most) noexcept {
  const Map &map = of(table);
  auto end = map.end();
  if (from != nullptr) end = inclusive ? map.upper_bound(*from) : map.lower_bound(*from);
  return write(std::make_reverse_iterator(end), map.rend(), words, most);
}

const fyris_index_ops ops = {
    FYRIS_INDEX_VERSION,
    sizeof(fyris_index_ops),
    FYRIS_INDEX_ORDER | FYRIS_INDEX_CONCURRENT_READERS,
    create,
    destroy,
    get,
    insert,
    remove,
    length,
    memory,
    above,
    below,
};

}  // namespace

extern "C" const fyris_index_ops *fyris_index_v1(void) noexcept { return &ops; }
