// Keys as bytes, and the list of tables in the order they were asked for.
#include "sextant/attention/table_cache.h"

#include <bit>
#include <cstring>
#include <utility>

#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

// What an entry takes beside its table and its key: a node of the list and one of the index.
constexpr std::size_t kEntryBytes = 160;

bool RunsOnByOne(std::span<const std::int64_t> positions) {
  for (std::size_t n = 1; n < positions.size(); ++n) {
    if (positions[n] != positions[n - 1] + 1) return false;
  }
  return true;
}

void AddType(const Scheme& scheme, std::string& key) {
  key += typeid(scheme).name();
  for (const SchemePtr& part : scheme.parts()) AddType(*part, key);
}

// Eight bytes a step, in two chains: FNV-1a by bytes would take longer than many a fill.
std::uint64_t FingerprintOf(Weights weights) {
  std::uint64_t even = 0x9e3779b97f4a7c15u, odd = 0xc2b2ae3d27d4eb4fu;
  const auto mix = [](std::uint64_t& state, std::uint64_t word) {
    state = std::rotl(state ^ word * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
  };
  for (const std::vector<double>& weight : weights) {
    mix(even, weight.size());
    for (std::size_t n = 0; n + 1 < weight.size(); n += 2) {
      mix(even, std::bit_cast<std::uint64_t>(weight[n]));
      mix(odd, std::bit_cast<std::uint64_t>(weight[n + 1]));
    }
    if (weight.size() % 2 != 0) mix(odd, std::bit_cast<std::uint64_t>(weight.back()));
  }
  mix(even, odd);
  return even ^ even >> 29;
}

}  // namespace

TableKey& TableKey::Add(std::string_view text) {
  Add(static_cast<std::int64_t>(text.size()));
  bytes_ += text;
  return *this;
}

TableKey& TableKey::Add(std::int64_t number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes_.append(raw, sizeof raw);
  return *this;
}

TableKey& TableKey::Add(const Distances& distances) {
  return Add(distances.first).Add(distances.count);
}

TableKey& TableKey::Add(const Positions& positions) {
  Add(positions.length).Add(positions.axes()).Add(positions.count());
  if (positions.count() == 0) return *this;
  for (Index axis = 0; axis < positions.axes(); ++axis) {
    const auto values = positions.values[axis].span();
    const bool run = RunsOnByOne(values);
    bytes_ += run ? 'r' : 'l';
    for (std::int64_t position : run ? values.first(1) : values) Add(position);
  }
  return *this;
}

std::string SchemeKey(const Scheme& scheme, Weights weights) {
  std::string key;
  AddType(scheme, key);
  key += ' ' + ToText(SpecOf(scheme)) + ' ' + std::to_string(FingerprintOf(weights));
  return key;
}

TableCache::Usage TableCache::usage() const {
  const std::lock_guard lock(mutex_);
  return {hits_, misses_, entries_.size(), bytes_, capacity_};
}

void TableCache::Clear() {
  const std::lock_guard lock(mutex_);
  places_.clear();
  entries_.clear();
  bytes_ = 0;
}

std::shared_ptr<const void> TableCache::Find(const TableKey& key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key.bytes());
  if (place == places_.end()) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->table;
}

std::shared_ptr<const void> TableCache::Keep(const TableKey& key, std::shared_ptr<const void> table,
                                             std::size_t bytes) {
  bytes += key.bytes().size() + kEntryBytes;
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(key.bytes()); place != places_.end()) {
    return place->second->table;
  }
  if (bytes > capacity_) return table;
  MakeRoom(bytes);
  entries_.push_front({key.bytes(), table, bytes});
  places_.emplace(entries_.front().key, entries_.begin());
  bytes_ += bytes;
  return table;
}

void TableCache::MakeRoom(std::size_t bytes) {
  while (bytes_ + bytes > capacity_) {
    bytes_ -= entries_.back().bytes;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace sextant
