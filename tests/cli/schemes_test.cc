// sextant schemes: list, explanation, JSON, and wrong names.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "sextant/formats/file.h"
#include "tests/cli/run_program.h"

namespace sextant::cli {
namespace {

TEST(SchemesCommand, ListsEveryScheme) {
  const Outcome list = RunWith({"schemes"});
  EXPECT_EQ(list.exit_code, kFine);
  EXPECT_EQ(list.err, "");
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    EXPECT_TRUE(list.out_has(std::string("\n") + std::string(entry.info.name) + " "));
    EXPECT_TRUE(list.out_has(entry.info.title));
  }
  EXPECT_TRUE(list.out_has("hybrid = sinusoidal+learned"));
}

TEST(SchemesCommand, ExplainsOne) {
  const Outcome rope = RunWith({"schemes", "rope"});
  EXPECT_EQ(rope.exit_code, kFine);
  for (const char* text :
       {"Rotary position embedding", "w_i = base^(-2i/r)", "channel pairs of queries and keys",
        "rotated_dims = 64  (integer, 2 .. 4096)",
        "pairing = halves  (choice, halves | adjacent | adjacent_to_halves)",
        "follows the model's head_dim", "frequencies.factor = 1",
        "only with frequencies.rule=linear", "relative: yes",
        "tested: norms before and after agree to 1e-12", "arXiv 2104.09864", "Llama",
        "Other names\n  rotary"}) {
    EXPECT_TRUE(rope.out_has(text)) << text << "\n" << rope.out;
  }
  EXPECT_TRUE(RunWith({"schemes", "t5"}).out_has("table [32 x 8], one for all layers"));
  EXPECT_TRUE(RunWith({"schemes", "none"}).out_has("nowhere"));
  EXPECT_EQ(RunWith({"schemes", "rotary"}).out, rope.out);
  EXPECT_TRUE(RunWith({"schemes", "rope:base=5e5"}).out_has("frequencies.base = 500000"));
}

TEST(SchemesCommand, ExplainsACompositionByItsAlias) {
  const Outcome hybrid = RunWith({"schemes", "hybrid"});
  EXPECT_EQ(hybrid.exit_code, kFine);
  EXPECT_TRUE(hybrid.out_has("sinusoidal+learned: Composition"));
  EXPECT_TRUE(hybrid.out_has("learned.positions = 2048"));
  EXPECT_TRUE(hybrid.out_has("Other names\n  hybrid"));
}

TEST(SchemesCommand, JsonHoldsWhatTheContractDeclares) {
  const Outcome list = RunWith({"schemes", "--json"});
  ASSERT_EQ(list.exit_code, kFine);
  const auto json = list.json();
  ASSERT_EQ(json.size(), Registry::Builtin().entries().size());
  std::set<std::string> names;
  for (const auto& scheme : json) {
    names.insert(scheme["name"]);
    for (const char* field : {"title", "hooks", "claims", "parameters", "source", "formula",
                              "known_models", "weights", "aliases"}) {
      EXPECT_TRUE(scheme.contains(field)) << scheme["name"] << " " << field;
    }
    for (const char* claim : {"relative", "keeps_norms", "learned", "any_length", "decays"}) {
      EXPECT_TRUE(scheme["claims"][claim].is_boolean());
    }
  }
  EXPECT_TRUE(names.contains("rope") && names.contains("none") && names.contains("transformer-xl"));

  const auto alibi = RunWith({"schemes", "alibi", "--json"}).json();
  ASSERT_TRUE(alibi.is_object());
  EXPECT_EQ(alibi["hooks"], nlohmann::ordered_json({"distance_bias"}));
  const auto& heads = alibi["parameters"][0];
  EXPECT_EQ(heads["name"], "heads");
  EXPECT_EQ(heads["type"], "integer");
  EXPECT_EQ(heads["default"], 8);
  EXPECT_EQ(heads["minimum"], 1);
  EXPECT_EQ(heads["maximum"], 4096);
  EXPECT_EQ(heads["follows"], "heads");
  EXPECT_EQ(RunWith({"schemes", "hybrid", "--json"}).json()["parts"],
            nlohmann::ordered_json({"sinusoidal", "learned"}));
}

TEST(SchemesCommand, WrongNamesAreUsageErrors) {
  const Outcome unknown = RunWith({"schemes", "roep"});
  EXPECT_EQ(unknown.exit_code, kUsage);
  EXPECT_EQ(unknown.out, "");
  EXPECT_TRUE(unknown.err_has("unknown scheme \"roep\"; did you mean \"rope\"?")) << unknown.err;
  const Outcome option = RunWith({"schemes", "--jsom"});
  EXPECT_EQ(option.exit_code, kUsage);
  EXPECT_TRUE(option.err_has("unexpected argument \"--jsom\"; did you mean \"--json\"?"))
      << option.err;
  const Outcome extra = RunWith({"schemes", "rope", "alibi"});
  EXPECT_EQ(extra.exit_code, kUsage);
  EXPECT_TRUE(extra.err_has("\"alibi\"; see sextant schemes --help")) << extra.err;
}

TEST(SchemesCommand, EverySchemeSaysWhatItsPageNeeds) {
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    SCOPED_TRACE(entry.info.name);
    for (std::string_view text :
         {entry.info.title, entry.info.formula, entry.info.source, entry.info.conventions,
          entry.info.beyond, entry.info.pitfalls, entry.info.error, entry.info.proof}) {
      EXPECT_FALSE(text.empty());
    }
  }
}

TEST(SchemesCommand, EveryPageHasTheSameHeadings) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sextant-pages-" + std::to_string(getpid()));
  ASSERT_EQ(RunWith({"schemes", "--pages", folder.string()}).exit_code, kFine);
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const std::string page =
        ReadFile((folder / (std::string(entry.info.name) + ".md")).string(), 1 << 20);
    std::size_t at = 0;
    for (const char* heading :
         {"# ", "\n## Formula\n", "\n## Where it enters\n", "\n## Parameters\n", "\n## Cost\n",
          "\n## What is invariant\n", "\n## In the trained length and beyond\n",
          "\n## Known models\n", "\n## Layout and sign conventions\n", "\n## Pitfalls\n",
          "\n## Error of its tables\n", "\n## Which tests prove it\n", "\n## Trainable weights\n",
          "\n## Source\n"}) {
      at = page.find(heading, at);
      ASSERT_NE(at, std::string::npos) << entry.info.name << " lacks " << heading;
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(SchemesCommand, HelpHasExamples) {
  for (const char* command : {"schemes", "table", "probe", "vectors"}) {
    const Outcome help = RunWith({command, "--help"});
    EXPECT_EQ(help.exit_code, kFine);
    EXPECT_TRUE(help.out_has(std::string("Examples:\n  sextant ") + command)) << help.out;
    EXPECT_TRUE(help.out_has("--json"));
  }
}

}  // namespace
}  // namespace sextant::cli
