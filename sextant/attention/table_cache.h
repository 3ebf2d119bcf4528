// Float32 tables kept for the next call: bounded in bytes, for several threads, owned by the
// caller.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>

#include "sextant/schemes/scheme.h"

namespace sextant {

// What a table depends on, as bytes that are compared whole: two tables with one key are equal.
class TableKey {
 public:
  // `what` the table holds.
  explicit TableKey(std::string_view what) { Add(what); }

  TableKey& Add(std::string_view text);
  TableKey& Add(std::int64_t number);
  TableKey& Add(const Distances& distances);
  // An axis that runs on by one takes its first position, any other all of them; and the length.
  TableKey& Add(const Positions& positions);

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Names a scheme with its weights for keys: its type, its printed spec with every setting, and a
// fingerprint of 64 bits of the weights, all of which it reads.
std::string SchemeKey(const Scheme& scheme, Weights weights);

// Tables by key; where they would pass `capacity` bytes, those that were not asked for longest are
// let go. A table that someone still holds lives on until they do not. The type of a table is part
// of its key, so that tables of another precision are others. Every method may be called from
// several threads at once; two that miss the same table both fill it, and one of them is kept.
class TableCache {
 public:
  explicit TableCache(std::size_t capacity) : capacity_(capacity) {}
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  struct Usage {
    std::int64_t hits = 0, misses = 0;  // since the cache was made
    std::size_t tables = 0, bytes = 0;  // now, keys included
    std::size_t capacity = 0;
  };
  Usage usage() const;

  // Lets all tables go; hits and misses stay.
  void Clear();

  // The table of `key`, from `fill()` where it is not here. Table has bytes(). One that does not
  // fit into the capacity is returned and not kept. Throws what `fill` throws, and keeps nothing
  // then.
  template <class Table, class Fill>
  std::shared_ptr<const Table> Get(TableKey key, const Fill& fill) {
    key.Add(typeid(Table).name());
    if (std::shared_ptr<const void> found = Find(key)) {
      return std::static_pointer_cast<const Table>(found);
    }
    auto made = std::make_shared<const Table>(fill());
    const std::size_t bytes = sizeof(Table) + made->bytes();
    return std::static_pointer_cast<const Table>(Keep(key, std::move(made), bytes));
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const void> table;
    std::size_t bytes;
  };

  std::shared_ptr<const void> Find(const TableKey& key);
  std::shared_ptr<const void> Keep(const TableKey& key, std::shared_ptr<const void> table,
                                   std::size_t bytes);
  void MakeRoom(std::size_t bytes);

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one asked for last comes first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
  std::size_t bytes_ = 0;
  std::int64_t hits_ = 0, misses_ = 0;
};

}  // namespace sextant
