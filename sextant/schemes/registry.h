// The catalogue: every scheme by name, and schemes made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sextant/schemes/scheme.h"

namespace sextant {

// One scheme as the registry keeps it.
struct SchemeEntry {
  SchemeInfo info;
  std::vector<Parameter> parameters;  // with their defaults
  SchemePtr (*make)(const ParameterValues& given, const ModelShape& shape);
  // The parameters that `make` of the same would have, without the checks across fields: so rules
  // are listed whose own settings have no default (a list of frequencies).
  std::vector<Parameter> (*list)(const ParameterValues& given, const ModelShape& shape);
};

// The entry of a scheme struct; defined in erased.h and instantiated in the scheme's own file.
template <class T>
SchemeEntry EntryOf();

// Another name for a spec people use: "nope" for none, "hybrid" for sinusoidal+learned.
struct Alias {
  const char* name;
  const char* spec;
};

// A list of schemes in reading order. Copy the built-in one and Add to it for schemes of your own.
class Registry {
 public:
  static const Registry& Builtin();

  // Throws Error if the name is taken.
  void Add(SchemeEntry entry);

  const std::vector<SchemeEntry>& entries() const { return entries_; }
  // Throws Error with the nearest names if there is none.
  const SchemeEntry& Find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<SchemeEntry> entries_;
};

std::span<const Alias> Aliases();

}  // namespace sextant
