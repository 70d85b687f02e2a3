// std::unordered_map as the index of a Fyris table: no iteration, one lock.
//
//     c++ -std=c++17 -O2 -shared -fPIC -I PREFIX/include -o unordered_map.so unordered_map.cc
//
//     1> T = fyris:new(t, [set, {index, {library, "/path/to/unordered_map.so"}}]).
//
// The paper on the scalability of ETS plugged std::unordered_set in (Klaftenegger, Sagonas and Winblad, 2013, section
// 6.2.2). What it says of it holds here too: the container cannot be iterated while it changes, so operations on tables
// that visit keys are refused by name, and writers have the whole table to themselves. Its const members may be called
// at once, which is the one capability declared.

#include <fyris_index.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <unordered_map>

namespace {

// A key is kept as Fyris hands it over: its bytes stay where they are until it has been removed, so they are not
// copied.
struct Same {
  bool operator()(const fyris_index_key &a, const fyris_index_key &b) const noexcept {
    return a.length == b.length && std::equal(a.bytes, a.bytes + a.length, b.bytes);
  }
};

struct Hash {
  std::size_t operator()(const fyris_index_key &key) const noexcept {
    return static_cast<std::size_t>(key.hash);
  }
};

using Map = std::unordered_map<fyris_index_key, std::uint64_t, Hash, Same>;

Map &of(void *table) noexcept { return *static_cast<Map *>(table); }

// No exception may leave a function of the interface: where memory ends, it says so by its result.
void *create(std::size_t capacity) noexcept try {
  return new Map(capacity);
} catch (const std::exception &) {
  return nullptr;
}

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

// The buckets, and a node an entry with its link and the hash that it remembers: an estimate.
std::size_t memory(void *table) noexcept {
  const Map &map = of(table);
  return sizeof(Map) + map.bucket_count() * sizeof(void *) +
         map.size() * (sizeof(Map::value_type) + 2 * sizeof(void *));
}

const fyris_index_ops ops = {
    FYRIS_INDEX_VERSION,
    sizeof(fyris_index_ops),
    FYRIS_INDEX_CONCURRENT_READERS,
    create,
    destroy,
    get,
    insert,
    remove,
    length,
    memory,
    nullptr,  // above: no iteration
    nullptr,  // below
};

}  // namespace

extern "C" const fyris_index_ops *fyris_index_v1(void) noexcept { return &ops; }
