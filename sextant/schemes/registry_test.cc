// The catalogue: every scheme's file is listed, names are unique, and misses are explained.
#include "sextant/schemes/registry.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

std::string Text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The files below sextant/schemes that define schemes.
std::vector<std::string> SchemeFiles() {
  std::vector<std::string> files;
  const std::filesystem::path folder = std::filesystem::path(SEXTANT_SOURCE) / "sextant/schemes";
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = file.path().string();
    if (!path.ends_with(".cc") || path.ends_with("_test.cc")) continue;
    if (Count(Text(path), "\ntemplate SchemeEntry EntryOf<schemes::") > 0) files.push_back(path);
  }
  return files;
}

// The names in the SchemeInfo of those files.
std::vector<std::string> NamesInSources() {
  std::vector<std::string> names;
  for (const std::string& path : SchemeFiles()) {
    const std::string text = Text(path), info = "static constexpr SchemeInfo info{";
    for (std::size_t at = text.find(info); at != text.npos; at = text.find(info, at + 1)) {
      const std::size_t from = text.find('"', at) + 1;
      names.push_back(text.substr(from, text.find('"', from) - from));
    }
    EXPECT_EQ(Count(text, info), Count(text, "\ntemplate SchemeEntry EntryOf<schemes::")) << path;
  }
  return names;
}

TEST(RegistryTest, ListsExactlyTheSchemesThatHaveAFile) {
  const std::vector<std::string> found = NamesInSources();
  EXPECT_GE(found.size(), 8u) << "the scan of " << SEXTANT_SOURCE << " found too little";
  const std::vector<std::string> listed = Registry::Builtin().names();
  EXPECT_EQ(std::multiset<std::string>(listed.begin(), listed.end()),
            std::multiset<std::string>(found.begin(), found.end()));
}

TEST(RegistryTest, EverySchemeHasATestFileBesideIt) {
  const std::vector<std::string> files = SchemeFiles();
  EXPECT_GE(files.size(), 8u);
  for (const std::string& path : files) {
    EXPECT_TRUE(std::filesystem::exists(path.substr(0, path.size() - 3) + "_test.cc")) << path;
  }
}

TEST(RegistryTest, NamesAreUniqueAndEverySchemeSaysWhatItIs) {
  std::set<std::string> names;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    EXPECT_TRUE(names.insert(std::string(entry.info.name)).second) << entry.info.name;
    for (std::string_view text : {entry.info.title, entry.info.formula, entry.info.source}) {
      EXPECT_FALSE(text.empty()) << entry.info.name;
    }
    for (const Parameter& parameter : entry.parameters) {
      EXPECT_FALSE(parameter.help.empty()) << entry.info.name << " " << parameter.path;
    }
    EXPECT_EQ(entry.make({}, {})->name(), entry.info.name);
  }
  EXPECT_GE(names.size(), 8u);
}

TEST(RegistryTest, TheSeedsSchemesAreThere) {
  for (const char* name : {"none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "alibi",
                           "rope", "hybrid"}) {
    EXPECT_NO_THROW(MakeScheme(name)) << name;
  }
}

TEST(RegistryTest, AliasesStandForSchemesAndHideNone) {
  ASSERT_FALSE(Aliases().empty());
  std::set<std::string> names;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    names.insert(std::string(entry.info.name));
  }
  for (const Alias& alias : Aliases()) {
    EXPECT_TRUE(names.insert(alias.name).second) << alias.name;
    EXPECT_EQ(MakeScheme(alias.name)->name(), MakeScheme(alias.spec)->name());
  }
}

std::string Miss(std::string_view name) {
  try {
    Registry::Builtin().Find(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "found";
}

TEST(RegistryTest, AMissNamesTheNearest) {
  EXPECT_EQ(Miss("alibbi"), "scheme: unknown scheme \"alibbi\"; did you mean \"alibi\"?");
  EXPECT_EQ(Miss("rotarry"), "scheme: unknown scheme \"rotarry\"; did you mean \"rotary\"?");
  EXPECT_EQ(Miss("zzzzzzzz").find("scheme: unknown scheme \"zzzzzzzz\"; the schemes are none, "),
            0u);
  EXPECT_EQ(Miss("a\x1b[31m\nb").find('\x1b'), std::string::npos);
  EXPECT_LT(Miss(std::string(100000, 'x')).size(), 400u);
}

TEST(RegistryTest, ANameIsAddedOnce) {
  Registry registry = Registry::Builtin();
  SchemeEntry entry = registry.Find("rope");
  EXPECT_THROW(registry.Add(entry), Error);
  entry.info.name = "rope-of-mine";
  registry.Add(entry);
  EXPECT_EQ(registry.Find("rope-of-mine").info.name, "rope-of-mine");
  EXPECT_EQ(registry.entries().size(), Registry::Builtin().entries().size() + 1);
  EXPECT_THROW(Registry::Builtin().Find("rope-of-mine"), Error);
}

}  // namespace
}  // namespace sextant
