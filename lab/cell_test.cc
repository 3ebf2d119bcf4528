// One run: stopped and resumed to the bit, failing clearly, and keeping what it has.
#include "lab/cell.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sextant/core/error.h"
#include "sextant/formats/file.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

Settings Small() {
  Settings settings;
  settings.layers = 1;
  settings.width = 16;
  settings.heads = 2;
  settings.context = 16;
  settings.batch = 2;
  settings.steps = 9;
  settings.warmup = 2;
  settings.tokens = TokenKind::kBytes;
  settings.evaluate_every = 3;
  settings.checkpoint_every = 2;
  settings.curve_tokens = 64;
  settings.final_tokens = 256;
  settings.longest = 4;
  settings.sample_tokens = 20;
  return settings;
}

class CellTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "cell_test_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    dataset_ = MakeDataset(SplitCorpus(Text(), "text"), Small());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static std::string Text() {
    std::string text;
    for (int story = 0; story < 60; ++story) {
      text += "The fox saw hen number " + std::to_string(story) + " and it ran away.\n\n";
    }
    return text;
  }

  std::string Make(const std::string& name, const std::string& spec, Settings settings) {
    const SchemePtr scheme = MakeScheme(spec, settings.model_shape());
    const std::string folder = root_ + "/" + name;
    CreateCell(folder, {SpecOf(*scheme), spec, 1, settings, "../data", dataset_.fingerprint});
    return folder;
  }
  CellState Run(const std::string& folder, int stop_after = 1 << 30) {
    int steps = 0;
    CellWatch watch;
    watch.progress = [&](const CellProgress&) { ++steps; };
    watch.stop = [&] { return steps >= stop_after; };
    return RunCell(folder, dataset_, Registry::Builtin(), watch);
  }

  std::string root_;
  Dataset dataset_;
};

TEST_F(CellTest, AStoppedRunEndsWithTheWeightsOfAnUninterruptedOne) {
  for (const std::string spec : {"t5", "rope", "learned", "shaw"}) {
    SCOPED_TRACE(spec);
    const std::string whole = Make(spec + "-whole", spec, Small());
    const std::string parts = Make(spec + "-parts", spec, Small());
    EXPECT_EQ(Run(whole), CellState::kFinished);
    for (int stop = 0; stop < 4; ++stop) EXPECT_EQ(Run(parts, 2), CellState::kUnfinished);
    EXPECT_EQ(StateOf(parts), CellState::kUnfinished);
    EXPECT_EQ(Run(parts), CellState::kFinished);
    const Json a = CellResult(whole), b = CellResult(parts);
    EXPECT_EQ(a["weights"], b["weights"]);
    EXPECT_EQ(a["evaluation"], b["evaluation"]);
    EXPECT_EQ(a["sample"], b["sample"]);
    ASSERT_EQ(a["curve"].size(), 4u);  // steps 0, 3, 6, 9
    ASSERT_EQ(b["curve"].size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(a["curve"][i]["held_out_loss"], b["curve"][i]["held_out_loss"]);
    }
  }
}

// A kill leaves the last checkpoint and lines written after it.
TEST_F(CellTest, LinesWrittenAfterTheLastCheckpointAreWrittenAgain) {
  const std::string whole = Make("whole", "alibi", Small());
  const std::string killed = Make("killed", "alibi", Small());
  Run(whole);
  Run(killed, 2);
  std::ofstream(killed + "/metrics.jsonl", std::ios::app)
      << R"({"step":3,"tokens":96,"held_out_loss":99})"
      << "\n";
  EXPECT_EQ(Run(killed), CellState::kFinished);
  EXPECT_EQ(CellResult(whole)["weights"], CellResult(killed)["weights"]);
  EXPECT_EQ(CellResult(killed)["curve"][1]["held_out_loss"],
            CellResult(whole)["curve"][1]["held_out_loss"]);
}

TEST_F(CellTest, TheSeedDecidesTheWeights) {
  Settings settings = Small();
  settings.steps = 1;
  const SchemePtr scheme = MakeScheme("rope", settings.model_shape());
  std::vector<std::string> weights;
  for (const std::uint64_t seed : {1u, 2u, 1u}) {
    const std::string folder = root_ + "/seed" + std::to_string(weights.size());
    CreateCell(folder, {SpecOf(*scheme), "rope", seed, settings, "../data", dataset_.fingerprint});
    Run(folder);
    weights.push_back(CellResult(folder)["weights"]);
  }
  EXPECT_EQ(weights[0], weights[2]);
  EXPECT_NE(weights[0], weights[1]);
}

TEST_F(CellTest, TrainingLowersTheLoss) {
  Settings settings = Small();
  settings.steps = 60;
  settings.learning_rate = 1e-2;
  const std::string folder = Make("run", "rope", settings);
  Run(folder);
  const Json curve = CellResult(folder)["curve"];
  EXPECT_LT(curve.back()["held_out_loss"].get<double>(),
            curve.front()["held_out_loss"].get<double>() - 1.0);
}

TEST_F(CellTest, ALossThatIsNotFiniteStopsTheRunWithItsStep) {
  Settings settings = Small();
  settings.learning_rate = 10;
  settings.warmup = 0;
  settings.clip = 0;
  settings.embed_scale = 1e6;
  settings.steps = 400;
  settings.evaluate_every = 400;
  settings.checkpoint_every = 400;
  settings.weight_decay = 10;  // 10 * 10 = 100: weights grow 99-fold a step
  const std::string folder = Make("run", "none", settings);
  EXPECT_EQ(Run(folder), CellState::kFailed);
  EXPECT_EQ(StateOf(folder), CellState::kFailed);
  const std::string reason = CellResult(folder)["reason"];
  EXPECT_NE(reason.find("at step "), std::string::npos) << reason;
  EXPECT_EQ(Run(folder), CellState::kFailed);
}

TEST_F(CellTest, ATableThatEndsSaysCannotAtLongerLengths) {
  const std::string folder = Make("run", "learned", Small());
  Run(folder);
  const Json rows = CellResult(folder)["evaluation"];
  ASSERT_EQ(rows.size(), 6u);  // 1x, 2x, 4x by two protocols
  EXPECT_EQ(rows[0]["protocol"], "non-overlapping");
  EXPECT_GT(rows[0]["loss"].get<double>(), 0);
  EXPECT_EQ(rows[1]["cannot"],
            "learned: position 16 is outside the table of 16 positions (0 to 15)");
  EXPECT_EQ(rows[3]["protocol"], "last-16-fixed");
  EXPECT_EQ(rows[3]["length"], 16);
  EXPECT_TRUE(rows[5].contains("cannot"));
}

// Rows of a table at its initial values are small beside tokens: each token stays itself.
TEST_F(CellTest, SaysWherePositionsLieAmongTokens) {
  Settings settings = Small();
  settings.learning_rate = 1e-9;
  const std::string learned = Make("learned", "learned", settings);
  const std::string rope = Make("rope", "rope", settings);
  Run(learned);
  Run(rope);
  const Json space = CellResult(learned)["embedding_space"];
  EXPECT_EQ(space["nearest_is_itself"], 1.0);
  // 16 rows of 16 random numbers: 15 directions, most of them needed for 90 %.
  EXPECT_GE(space["positions_90"], 6);
  EXPECT_LE(space["positions_90"], 15);
  EXPECT_GT(space["token_variance_within"], 0.2);
  EXPECT_LE(space["token_variance_within"], 1.0);
  EXPECT_TRUE(CellResult(rope)["embedding_space"].is_null());
}

TEST_F(CellTest, EveryLengthScoresTheSameNumberOfTargets) {
  const std::string folder = Make("run", "alibi", Small());
  Run(folder);
  const Json rows = CellResult(folder)["evaluation"];
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i]["tokens"], rows[0]["tokens"]);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(rows[i]["tokens"], rows[3]["tokens"]);
}

TEST_F(CellTest, ADamagedCheckpointIsNamedAndKept) {
  const std::string folder = Make("run", "rope", Small());
  Run(folder, 4);
  const std::string path = folder + "/ckpt/last.safetensors";
  const std::string bytes = ReadFile(path, 1 << 24);
  WriteFile(path, bytes.substr(0, bytes.size() / 2));
  try {
    Run(folder);
    FAIL();
  } catch (const UnreadableInput& error) {
    EXPECT_EQ(error.where(), path);
    EXPECT_NE(error.rule().find("cut short"), std::string::npos) << error.what();
  }
  EXPECT_EQ(ReadFile(path, 1 << 24).size(), bytes.size() / 2);
  WriteFile(path, bytes);
  EXPECT_EQ(Run(folder), CellState::kFinished);
}

TEST_F(CellTest, ACheckpointOfOtherSettingsIsRefused) {
  Settings other = Small();
  other.learning_rate = 1e-3;
  const std::string from = Make("from", "rope", Small()), to = Make("to", "rope", other);
  Run(from, 4);
  std::filesystem::copy(from + "/ckpt/last.safetensors", to + "/ckpt/last.safetensors");
  try {
    Run(to);
    FAIL();
  } catch (const UnreadableInput& error) {
    EXPECT_NE(error.rule().find("other settings"), std::string::npos) << error.what();
  }
}

TEST_F(CellTest, AFolderOfAnotherRunIsLeftAlone) {
  const std::string folder = Make("run", "rope", Small());
  const std::string before = ReadFile(folder + "/config.json", 1 << 20);
  EXPECT_THROW(Make("run", "alibi", Small()), Error);
  EXPECT_EQ(ReadFile(folder + "/config.json", 1 << 20), before);
  EXPECT_NO_THROW(Make("run", "rope", Small()));
}

TEST_F(CellTest, OtherDataIsRefused) {
  const std::string folder = Make("run", "rope", Small());
  dataset_ = MakeDataset(SplitCorpus(Text() + "One more story.\n", "text"), Small());
  EXPECT_THROW(Run(folder), UnreadableInput);
}

TEST_F(CellTest, TellsTheSameStoryForTheSameSeed) {
  const std::string folder = Make("run", "rope", Small());
  SaveDataset(root_ + "/data", dataset_);
  Run(folder);
  StoryRequest request{.prompt = "The fox", .seed = 3};
  const std::string story = TellStoryOf(folder, Registry::Builtin(), request);
  EXPECT_EQ(story.rfind("The fox", 0), 0u);
  EXPECT_EQ(TellStoryOf(folder, Registry::Builtin(), request), story);
  request.seed = 4;
  EXPECT_NE(TellStoryOf(folder, Registry::Builtin(), request), story);
}

TEST_F(CellTest, ADatasetReadBackIsEqual) {
  SaveDataset(root_ + "/data", dataset_);
  const Dataset back = OpenDataset(root_ + "/data");
  EXPECT_EQ(back.fingerprint, dataset_.fingerprint);
  EXPECT_EQ(back.train->tokens(), dataset_.train->tokens());
  EXPECT_EQ(back.held_out->tokens(), dataset_.held_out->tokens());
  EXPECT_EQ(back.prompt, "The fox saw hen");
  EXPECT_EQ(back.train->Bytes(0, 10), dataset_.train->Bytes(0, 10));
}

TEST_F(CellTest, TextTooShortForTheLongestEvaluationIsRefused) {
  Settings settings = Small();
  settings.longest = 64;
  try {
    MakeDataset(SplitCorpus(Text(), "text"), settings);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.rule().find("the longest evaluation needs 1025"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sextant::lab
