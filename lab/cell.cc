// Training and evaluating one cell.
#include "lab/cell.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numbers>
#include <optional>
#include <sstream>

#include "lab/adamw.h"
#include "lab/checkpoint.h"
#include "lab/embedding_space.h"
#include "lab/environment.h"
#include "lab/evaluate.h"
#include "lab/folder_lock.h"
#include "lab/generate.h"
#include "lab/gpt.h"
#include "lab/layers.h"
#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;
using torch::Tensor;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxMetrics = 256u << 20;
constexpr std::uint64_t kSampleSeed = 1;

double RateAt(const Settings& settings, std::int64_t step) {
  if (step < settings.warmup) {
    return settings.learning_rate * double(step + 1) / double(settings.warmup);
  }
  const double span = std::max(1, settings.steps - settings.warmup);
  const double done = double(step - settings.warmup) / span;
  const double wave = 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
  return settings.learning_rate * (settings.final_rate + (1 - settings.final_rate) * wave);
}

// The run in progress: model, optimiser, and the lines written so far.
class Run {
 public:
  Run(std::string folder, const Dataset& dataset, const Registry& registry)
      : folder_(std::move(folder)),
        dataset_(dataset),
        config_(ReadCellConfig(folder_)),
        settings_(config_.settings),
        identity_(FingerprintText(Fingerprint(ToJson(config_).dump()))),
        scheme_(MakeScheme(config_.spec, settings_.model_shape(), registry)),
        model_(settings_, dataset.tokenizer->vocabulary(), scheme_, config_.seed),
        optimizer_(model_, {.beta1 = settings_.beta1,
                            .beta2 = settings_.beta2,
                            .weight_decay = settings_.weight_decay,
                            .clip = settings_.clip}) {
    if (dataset_.fingerprint != config_.data_fingerprint) {
      throw UnreadableInput(folder_, "belongs to other data than it is run with");
    }
    norm_before_ = model_.PositionToTokenNorm();
    Restore();
  }

  CellState Train(const CellWatch& watch) {
    WriteFile(folder_ + "/env.json", DescribeEnvironment(settings_.threads).dump(2) + "\n");
    if (at_.step == 0 && lines_.empty()) AddPoint(std::nullopt);
    Array<std::int32_t, 2> batch({settings_.batch, settings_.context + 1});
    while (at_.step < settings_.steps) {
      if (watch.stop()) {
        Save();
        return CellState::kUnfinished;
      }
      const double loss = Step(batch);
      if (!std::isfinite(loss)) return Fail(loss);
      ++at_.step;
      watch.progress({at_.step, settings_.steps, loss, Rate()});
      const bool last = at_.step == settings_.steps;
      if (at_.step % settings_.evaluate_every == 0 || last) AddPoint(loss);
      if (at_.step % settings_.checkpoint_every == 0 || last) Save();
    }
    Finish();
    return CellState::kFinished;
  }

 private:
  std::int64_t TokensAt(std::int64_t step) const {
    return step * settings_.batch * settings_.context;
  }
  // Tokens a second of training, evaluation and checkpoints not counted.
  double Rate() const { return at_.seconds > 0 ? double(TokensAt(at_.step)) / at_.seconds : 0; }

  double Step(Array<std::int32_t, 2>& batch) {
    const auto started = Clock::now();
    dataset_.train->Batch(config_.seed, static_cast<std::uint64_t>(at_.step), batch);
    const Tensor tokens = torch::from_blob(batch.values().data(),
                                           {settings_.batch, settings_.context + 1}, torch::kInt)
                              .to(torch::kLong);
    optimizer_.ZeroGradients();
    const Tensor loss =
        MeanCrossEntropy(model_.Forward(tokens.narrow(1, 0, settings_.context)).flatten(0, 1),
                         tokens.narrow(1, 1, settings_.context).flatten());
    loss.backward();
    const double norm = optimizer_.Step(RateAt(settings_, at_.step));
    at_.seconds += std::chrono::duration<double>(Clock::now() - started).count();
    return std::isfinite(norm) ? loss.item<double>() : norm;
  }

  void AddPoint(std::optional<double> train_loss) {
    Json line = {{"step", at_.step}, {"tokens", TokensAt(at_.step)}};
    if (train_loss) line["train_loss"] = *train_loss;
    line["held_out_loss"] = CurveLoss(model_, dataset_, settings_);
    if (at_.step > 0) line["tokens_per_second"] = Rate();
    lines_.push_back(line);
    WriteLines();
  }

  void WriteLines() const {
    std::string text;
    for (const Json& line : lines_) text += line.dump() + "\n";
    WriteFile(folder_ + "/metrics.jsonl", text);
  }

  void Save() {
    at_.settings = identity_;
    SaveCheckpoint(folder_ + "/ckpt/last.safetensors", model_, optimizer_, at_);
  }

  // Goes back to the last checkpoint, and drops the lines that a killed run wrote after it.
  void Restore() {
    const std::string checkpoint = folder_ + "/ckpt/last.safetensors";
    if (std::filesystem::exists(checkpoint)) {
      at_ = LoadCheckpoint(checkpoint, model_, optimizer_, identity_);
    }
    const std::string metrics = folder_ + "/metrics.jsonl";
    if (!std::filesystem::exists(metrics)) return;
    std::istringstream text(ReadFile(metrics, kMaxMetrics));
    for (std::string line; std::getline(text, line);) {
      const Json point = ReadJson(line, metrics);
      if (point.value("step", std::int64_t{0}) <= at_.step) lines_.push_back(point);
    }
  }

  CellState Fail(double loss) {
    Json result = Result("failed");
    result["reason"] = "the loss or its gradient is " +
                       std::string(std::isnan(loss) ? "not a number" : "infinite") + " at step " +
                       std::to_string(at_.step + 1);
    WriteFile(folder_ + "/result.json", result.dump(2) + "\n");
    return CellState::kFailed;
  }

  Json Result(const char* state) {
    Json curve = Json::array();
    for (const Json& line : lines_) curve.push_back(line);
    return {{"seed", config_.seed},
            {"state", state},
            {"reason", ""},
            {"steps", at_.step},
            {"tokens", TokensAt(at_.step)},
            {"seconds", at_.seconds},
            {"tokens_per_second", Rate()},
            {"parameters", model_.parameter_count()},
            {"weights", WeightsFingerprint(model_)},
            {"curve", curve}};
  }

  void Finish() {
    Json result = Result("finished");
    result["evaluation"] = EvaluateLengths(model_, dataset_, settings_);
    result["by_position"] = EvaluateByPosition(model_, dataset_, settings_);
    const std::optional<double> after = model_.PositionToTokenNorm();
    result["position_to_token_norm"] =
        after ? Json{{"before", norm_before_.value_or(0)}, {"after", *after}} : Json(nullptr);
    result["embedding_space"] = DescribeEmbeddingSpace(model_);
    const std::string story = Generate(model_, *dataset_.tokenizer,
                                       {.prompt = dataset_.prompt,
                                        .seed = kSampleSeed,
                                        .tokens = settings_.sample_tokens,
                                        .temperature = settings_.temperature,
                                        .context = settings_.context});
    WriteFile(folder_ + "/samples.txt", story + "\n");
    result["sample"] = {{"prompt", dataset_.prompt}, {"text", story}};
    WriteFile(folder_ + "/result.json",
              result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  std::string folder_;
  const Dataset& dataset_;
  CellConfig config_;
  Settings settings_;
  std::string identity_;
  SchemePtr scheme_;
  Gpt model_;
  AdamW optimizer_;
  Progress at_;
  std::vector<Json> lines_;
  std::optional<double> norm_before_;
};

}  // namespace

CellState RunCell(const std::string& folder, const Dataset& dataset, const Registry& registry,
                  const CellWatch& watch) {
  const CellState state = StateOf(folder);
  if (state == CellState::kFinished || state == CellState::kFailed) return state;
  at::set_num_threads(ReadCellConfig(folder).settings.threads);
  const FolderLock lock(folder);
  return Run(folder, dataset, registry).Train(watch);
}

std::string TellStoryOf(const std::string& folder, const Registry& registry,
                        const StoryRequest& request) {
  const CellConfig config = ReadCellConfig(folder);
  at::set_num_threads(config.settings.threads);
  const Dataset dataset = OpenDataset(folder + "/" + config.data);
  const SchemePtr scheme = MakeScheme(config.spec, config.settings.model_shape(), registry);
  Gpt model(config.settings, dataset.tokenizer->vocabulary(), scheme, config.seed);
  const std::string identity = FingerprintText(Fingerprint(ToJson(config).dump()));
  LoadWeights(folder + "/ckpt/last.safetensors", model, identity);
  return Generate(
      model, *dataset.tokenizer,
      {.prompt = request.prompt.empty() ? dataset.prompt : request.prompt,
       .seed = request.seed,
       .tokens = request.tokens > 0 ? request.tokens : config.settings.sample_tokens,
       .temperature = request.temperature >= 0 ? request.temperature : config.settings.temperature,
       .context = config.settings.context});
}

}  // namespace sextant::lab
