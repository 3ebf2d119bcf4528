// `sextant compare` and `sextant lab` end to end: what they write, and what they refuse.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sextant/formats/file.h"
#include "tests/lab/lab_program.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

class CompareTest : public LabProgramTest {
 protected:
  Outcome Compare(const std::vector<std::string>& arguments) {
    return RunWith(With(With({"compare", "--seeds", "2"}, arguments), SmallSettings()));
  }
  Json Read(const std::string& path) { return Json::parse(ReadFile(path, std::size_t{1} << 26)); }
};

TEST_F(CompareTest, WritesAReportResultsAndARunFolderForEachCell) {
  const std::string output = Path("report");
  const Outcome outcome = Compare({"none", "learned", "sinusoidal+learned", "rope:base=500", "shaw",
                                   "--data", Stories("stories.txt"), "--output", output});
  EXPECT_EQ(outcome.exit_code, kFine) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("expected time: about"));
  EXPECT_THAT(outcome.out, HasSubstr("| rope:base=500"));
  const Json results = Read(output + "/results.json");
  EXPECT_EQ(results["format"], "sextant-compare/1");
  ASSERT_EQ(results["schemes"].size(), 5u);
  for (const Json& scheme : results["schemes"]) {
    SCOPED_TRACE(scheme["scheme"].dump());
    ASSERT_EQ(scheme["cells"].size(), 2u);
    for (const Json& cell : scheme["cells"]) {
      EXPECT_EQ(cell["state"], "finished");
      EXPECT_EQ(cell["evaluation"].size(), 6u);
      EXPECT_EQ(cell["tokens"], 12 * 4 * 16);
    }
    EXPECT_TRUE(scheme["probe"].contains("requirements"));
    EXPECT_TRUE(scheme["probe"].contains("anchor_spread"));
  }
  const std::string run = output + "/runs/rope_base_500-";
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator(output + "/runs")) {
    if (entry.path().string().rfind(run, 0) != 0) continue;
    found = true;
    for (const char* file : {"config.json", "env.json", "metrics.jsonl", "ckpt/last.safetensors",
                             "samples.txt", "result.json"}) {
      EXPECT_TRUE(std::filesystem::exists(entry.path() / "seed-2" / file)) << file;
    }
  }
  EXPECT_TRUE(found);
  const std::string report = ReadFile(output + "/report.html", std::size_t{1} << 26);
  EXPECT_THAT(report, HasSubstr("rope:base=500"));
  EXPECT_THAT(report, HasSubstr("<svg"));
}

TEST_F(CompareTest, SchemesOfOneSeedSeeTheSameBatchesAndStartAlike) {
  const std::string output = Path("report");
  Compare({"none", "rope", "--data", Stories("stories.txt"), "--output", output});
  const Json results = Read(output + "/results.json");
  // Both start from the same weights, and RoPE adds none, so only attention differs: with one token
  // of context nothing does.
  const Json& none = results["schemes"][0]["cells"][0];
  const Json& rope = results["schemes"][1]["cells"][0];
  EXPECT_EQ(none["parameters"], rope["parameters"]);
  EXPECT_NEAR(none["curve"][0]["held_out_loss"].get<double>(),
              rope["curve"][0]["held_out_loss"].get<double>(), 0.1);
}

TEST_F(CompareTest, GoesOnWhereItWasAndChangesNothingThatIsFinished) {
  const std::vector<std::string> arguments = {
      "none", "alibi", "--data", Stories("stories.txt"), "--output", Path("report")};
  ASSERT_EQ(Compare(arguments).exit_code, kFine);
  const Json before = Read(Path("report") + "/results.json");
  std::filesystem::remove(Path("report") + "/runs/alibi/seed-1/result.json");
  const Outcome again = Compare(arguments);
  EXPECT_EQ(again.exit_code, kFine);
  EXPECT_THAT(again.err, HasSubstr("finished before"));
  const Json after = Read(Path("report") + "/results.json");
  for (std::size_t scheme = 0; scheme < 2; ++scheme) {
    for (std::size_t seed = 0; seed < 2; ++seed) {
      EXPECT_EQ(before["schemes"][scheme]["cells"][seed]["weights"],
                after["schemes"][scheme]["cells"][seed]["weights"]);
    }
  }
}

TEST_F(CompareTest, JobsDoNotChangeWeights) {
  const std::string stories = Stories("stories.txt");
  std::set<std::string> weights;
  for (const char* jobs : {"1", "3"}) {
    const std::string output = Path(std::string("report") + jobs);
    Compare({"t5", "shaw", "--data", stories, "--output", output, "--jobs", jobs});
    const Json results = Read(output + "/results.json");
    weights.insert(results["schemes"][0]["cells"][0]["weights"].dump() +
                   results["schemes"][1]["cells"][1]["weights"].dump());
  }
  EXPECT_EQ(weights.size(), 1u);
}

TEST_F(CompareTest, RefusesWrongArgumentsBeforeAnythingIsWritten) {
  const std::string stories = Stories("stories.txt"), output = Path("report");
  struct Wrong {
    std::vector<std::string> arguments;
    int exit_code;
    std::string part;
  };
  const std::vector<Wrong> cases = {
      {{"none", "ropee"}, kUsage, "unknown scheme \"ropee\"; did you mean \"rope\"?"},
      {{"rope:bse=3"}, kUsage, "unknown setting \"bse\"; did you mean \"base\"?"},
      {{"rope:base=0"}, kUsage, "base must be a number from 1.001"},
      {{"rope:base=fast"}, kUsage, "got \"fast\""},
      {{"none", "none"}, kUsage, "none is given twice"},
      {{"none", "--seeds", "0"}, kUsage, "seeds must be a whole number from 1 to 1000, got 0"},
      {{"none", "--steps", "0"}, kUsage, "steps must be a whole number from 1"},
      {{"none", "--steps", "many"}, kUsage, "got \"many\""},
      {{"none", "--width", "30", "--heads", "4"}, kUsage, "heads must divide width"},
      {{"rope", "--width", "30", "--heads", "2"}, kUsage, "rotated_dims must be even"},
      {{"none", "--longest", "3"}, kUsage, "longest must be a power of two"},
      {{"none", "--stepps", "3"}, kUsage, "\"--stepps\"; did you mean \"--steps\"?"},
      {{"none", "--baseline", "rope"}, kUsage, "the baseline rope is not among the schemes"},
      {{"alibi:heads=5"}, kUsage, "alibi has a bias for 5 heads, the queries have 2"},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.part);
    // What a case gives comes last, so that it wins over the small settings.
    const Outcome outcome =
        RunWith(With(With({"compare", "--data", stories, "--output", output}, SmallSettings()),
                     wrong.arguments));
    EXPECT_EQ(outcome.exit_code, wrong.exit_code);
    EXPECT_THAT(outcome.err, HasSubstr(wrong.part));
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST_F(CompareTest, RefusesDataThatCannotServe) {
  struct Wrong {
    std::string data;
    int exit_code;
    std::string part;
  };
  const std::vector<Wrong> cases = {
      {Path("missing.txt"), kUnreadable, "there is no such file"},
      {folder_, kUnreadable, "is a folder"},
      {Write("empty.txt", ""), kUnreadable, "is empty"},
      {Write("latin.txt", "A caf\xe9 by the sea.\n\nAnother story."), kUnreadable,
       "is not UTF-8 at byte 5"},
      {Write("short.txt", "A short story.\n\nAnother one."), kUsage, "tokens, "},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.data);
    const Outcome outcome = Compare({"none", "--data", wrong.data, "--output", Path("report")});
    EXPECT_EQ(outcome.exit_code, wrong.exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(wrong.part));
    EXPECT_FALSE(std::filesystem::exists(Path("report")));
  }
}

TEST_F(CompareTest, LeavesAFolderOfSomethingElseAlone) {
  const std::string stories = Stories("stories.txt");
  ASSERT_EQ(Compare({"none", "--data", stories, "--output", Path("report")}).exit_code, kFine);
  const std::string before = ReadFile(Path("report") + "/results.json", 1 << 26);
  const Outcome other = Compare({"rope", "--data", stories, "--output", Path("report")});
  EXPECT_EQ(other.exit_code, kUsage);
  EXPECT_THAT(other.err, HasSubstr("holds another experiment: its schemes, baseline differ"));
  EXPECT_EQ(ReadFile(Path("report") + "/results.json", 1 << 26), before);

  std::filesystem::create_directories(Path("mine"));
  Write("mine/letter.txt", "Dear reader");
  const Outcome mine = Compare({"none", "--data", stories, "--output", Path("mine")});
  EXPECT_EQ(mine.exit_code, kUsage);
  EXPECT_THAT(mine.err, HasSubstr("is not empty and holds no experiment"));

  const Outcome file = Compare({"none", "--data", stories, "--output", stories});
  EXPECT_EQ(file.exit_code, kUsage);
  EXPECT_THAT(file.err, HasSubstr("is a file, a folder is needed"));

  const Outcome nowhere = Compare({"none", "--data", stories, "--output", "/proc/report"});
  EXPECT_EQ(nowhere.exit_code, kUnreadable);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be made"));
}

TEST_F(CompareTest, ADamagedCheckpointIsNamedAndNothingIsLost) {
  const std::vector<std::string> arguments = {
      "none", "rope", "--data", Stories("stories.txt"), "--output", Path("report")};
  ASSERT_EQ(Compare(arguments).exit_code, kFine);
  const std::string cell = Path("report") + "/runs/rope/seed-2";
  std::filesystem::remove(cell + "/result.json");
  std::filesystem::resize_file(cell + "/ckpt/last.safetensors", 100);
  const Outcome outcome = Compare(arguments);
  EXPECT_EQ(outcome.exit_code, kUnreadable);
  EXPECT_THAT(outcome.err, HasSubstr(cell + "/ckpt/last.safetensors: is no valid safetensors"));
  EXPECT_EQ(std::filesystem::file_size(cell + "/ckpt/last.safetensors"), 100u);
  EXPECT_TRUE(std::filesystem::exists(Path("report") + "/runs/none/seed-1/result.json"));
}

TEST_F(CompareTest, ALabRunAloneCanBeResumedAndTellsStories) {
  const std::string run = Path("run");
  const Outcome first = RunWith(With({"lab", "run", "alibi", "--data", Stories("stories.txt"),
                                      "--output", run, "--seed", "5", "--json"},
                                     SmallSettings()));
  ASSERT_EQ(first.exit_code, kFine) << first.err;
  const Json result = Json::parse(first.out);
  EXPECT_EQ(result["seed"], 5);
  EXPECT_EQ(result["state"], "finished");
  std::filesystem::remove(run + "/result.json");
  const Outcome again = RunWith({"lab", "resume", run, "--json"});
  ASSERT_EQ(again.exit_code, kFine) << again.err;
  EXPECT_EQ(Json::parse(again.out)["weights"], result["weights"]);
  const Outcome story = RunWith({"lab", "generate", run, "--prompt", "The fox", "--tokens", "5"});
  EXPECT_EQ(story.exit_code, kFine);
  EXPECT_THAT(story.out, HasSubstr("The fox"));
  EXPECT_EQ(RunWith({"lab", "resume", Path("nothing")}).exit_code, kUnreadable);
  EXPECT_EQ(RunWith({"lab", "generate", run, "--tokens", "0"}).exit_code, kUsage);
}

}  // namespace
}  // namespace sextant::cli
