// The one list of schemes.
#include "sextant/schemes/registry.h"

#include "sextant/core/closest.h"
#include "sextant/core/error.h"

namespace sextant {
namespace schemes {

// A line for each scheme, in reading order; the struct is defined in the file of its name.
constexpr SchemeEntry (*kSchemes[])() = {
    EntryOf<struct None>,        EntryOf<struct Sinusoidal>,
    EntryOf<struct Learned>,     EntryOf<struct Sinusoidal2d>,
    EntryOf<struct Shaw>,        EntryOf<struct Bert>,
    EntryOf<struct Music>,       EntryOf<struct TransformerXl>,
    EntryOf<struct Xlnet>,       EntryOf<struct Deberta>,
    EntryOf<struct T5>,          EntryOf<struct Alibi>,
    EntryOf<struct Kerple>,      EntryOf<struct Sandwich>,
    EntryOf<struct LearnedBias>, EntryOf<struct Cpb>,
    EntryOf<struct Fire>,        EntryOf<struct Swin>,
    EntryOf<struct SwinV2>,      EntryOf<struct Sam>,
    EntryOf<struct Cope>,        EntryOf<struct Forgetting>,
    EntryOf<struct Temperature>, EntryOf<struct LogN>,
    EntryOf<struct Rope>,        EntryOf<struct XPos>,
};

}  // namespace schemes

std::span<const Alias> Aliases() {
  static constexpr Alias kAliases[] = {
      {"hybrid", "sinusoidal+learned"},
      {"nope", "none"},
      {"sin", "sinusoidal"},
      {"absolute", "learned"},
      {"relative", "shaw"},
      {"txl", "transformer-xl"},
      {"rotary", "rope"},
  };
  return kAliases;
}

const Registry& Registry::Builtin() {
  static const Registry builtin = [] {
    Registry registry;
    for (const auto entry : schemes::kSchemes) registry.Add(entry());
    return registry;
  }();
  return builtin;
}

void Registry::Add(SchemeEntry entry) {
  for (const SchemeEntry& known : entries_) {
    if (known.info.name == entry.info.name) {
      throw Error("registry", "a scheme named " + std::string(entry.info.name) + " exists already");
    }
  }
  entries_.push_back(std::move(entry));
}

const SchemeEntry& Registry::Find(std::string_view name) const {
  for (const SchemeEntry& entry : entries_) {
    if (entry.info.name == name) return entry;
  }
  std::vector<std::string> known = names();
  std::string hint;
  for (const Alias& alias : Aliases()) known.emplace_back(alias.name);
  hint = DidYouMean(name, known);
  if (hint.empty()) hint = "the schemes are " + Join(names());
  std::string shown(name.substr(0, 60));
  for (char& c : shown) {
    if (c < ' ' || c == 127) c = '?';
  }
  throw Error("scheme", "unknown scheme \"" + shown + "\"", hint);
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const SchemeEntry& entry : entries_) names.emplace_back(entry.info.name);
  return names;
}

}  // namespace sextant
