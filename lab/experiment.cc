// Dealing cells to threads and collecting what they wrote.
#include "lab/experiment.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "lab/adamw.h"
#include "lab/environment.h"
#include "lab/folder_lock.h"
#include "lab/gpt.h"
#include "lab/report/summary.h"
#include "lab/scheme_figures.h"
#include "sextant/core/closest.h"
#include "sextant/core/error.h"
#include "sextant/core/fingerprint.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxJson = 64u << 20;
constexpr double kForwardShare = 1.0 / 3;  // of a training step's time

// A folder's name for a scheme: its text where that is safe, else a cut of it and a fingerprint.
std::string FolderName(const std::string& text) {
  constexpr std::size_t kLongest = 48;
  std::string name = text.substr(0, kLongest);
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '+') {
      letter = '_';
    }
  }
  return name == text ? name : name + "-" + FingerprintText(Fingerprint(text)).substr(0, 8);
}

// What makes two experiments the same.
Json Identity(const Experiment& experiment, const Dataset& dataset) {
  Json schemes = Json::array();
  for (const ExperimentScheme& scheme : experiment.schemes) {
    schemes.push_back({{"scheme", scheme.text}, {"spec", ToJson(SpecOf(*scheme.scheme))}});
  }
  return {{"format", "sextant-experiment/1"},
          {"schemes", schemes},
          {"seeds", experiment.seeds},
          {"settings", ToJson(experiment.settings)},
          {"baseline", experiment.baseline},
          {"data", {{"name", dataset.name}, {"fingerprint", dataset.fingerprint}}}};
}

struct CellTask {
  const ExperimentScheme* scheme;
  std::uint64_t seed;
  std::string folder;
};

// The cells of an experiment being worked on by several threads.
class Workers {
 public:
  Workers(std::vector<CellTask> cells, std::int64_t steps, const Dataset& dataset,
          const Registry& registry, ProgressLine& progress, const std::function<bool()>& stop)
      : cells_(std::move(cells)),
        steps_(steps),
        dataset_(dataset),
        registry_(registry),
        progress_(progress),
        stop_(stop) {}

  ExperimentState Run(int jobs) {
    std::vector<std::thread> threads;
    for (int job = 0; job < jobs; ++job) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    if (stopped_) return ExperimentState::kStopped;
    return failed_ ? ExperimentState::kSomeFailed : ExperimentState::kComplete;
  }

 private:
  void Work() {
    for (std::size_t next = next_++; next < cells_.size(); next = next_++) {
      if (Stopping()) return;
      try {
        RunOne(cells_[next]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
        return;
      }
    }
  }

  bool Stopping() {
    if (stop_()) stopped_ = true;
    const std::lock_guard lock(mutex_);
    return stopped_ || error_ != nullptr;
  }

  void RunOne(const CellTask& cell) {
    const bool was_over = StateOf(cell.folder) == CellState::kFinished;
    std::int64_t last = -1;
    CellWatch watch;
    watch.stop = [this] { return Stopping(); };
    watch.progress = [&](const CellProgress& now) {
      // Steps a checkpoint already held are not work of this process.
      if (last < 0) skipped_ += now.step - 1;
      done_ += last < 0 ? now.step : now.step - last;
      last = now.step;
      Show(cell, now);
    };
    const CellState state = RunCell(cell.folder, dataset_, registry_, watch);
    const std::string name = fmt::format("{} seed {}", cell.scheme->text, cell.seed);
    if (state == CellState::kFinished) {
      ++finished_;
      if (was_over) {
        done_ += steps_;
        skipped_ += steps_;
      }
      const Json result = CellResult(cell.folder);
      const double loss = result.at("evaluation").at(0).value("loss", 0.0);
      progress_.Print(fmt::format("  {:<28} held-out loss {:.3f}   {:.0f} tokens/s   {}{}", name,
                                  loss, result.value("tokens_per_second", 0.0),
                                  DurationText(result.value("seconds", 0.0)),
                                  was_over ? " (finished before)" : ""));
    } else if (state == CellState::kFailed) {
      failed_ = true;
      done_ += steps_ - std::max<std::int64_t>(last, 0);
      progress_.Print(
          fmt::format("  {:<28} stopped: {}", name, CellResult(cell.folder).value("reason", "")));
    }
  }

  void Show(const CellTask& cell, const CellProgress& now) {
    const std::int64_t total = steps_ * static_cast<std::int64_t>(cells_.size());
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    const std::int64_t here = done_ - skipped_;
    const double left = here > 0 ? seconds / double(here) * double(total - done_) : 0;
    progress_.Update(fmt::format(
        "{} of {} runs, {:.0f} %, {} left | {} seed {} step {}/{} loss {:.3f}", finished_.load(),
        cells_.size(), 100 * double(done_) / double(total), DurationText(left), cell.scheme->text,
        cell.seed, now.step, now.steps, now.loss));
  }

  const std::vector<CellTask> cells_;
  const std::int64_t steps_;
  const Dataset& dataset_;
  const Registry& registry_;
  ProgressLine& progress_;
  const std::function<bool()>& stop_;
  const Clock::time_point started_ = Clock::now();
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int64_t> done_{0}, skipped_{0};
  std::atomic<int> finished_{0};
  std::atomic<bool> stopped_{false}, failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Fails where a scheme does not fit the model, at the price of one small layer.
void CheckFits(Settings settings, const SchemePtr& scheme) {
  settings.layers = 1;
  Gpt(settings, 1, scheme, 1);
}

Json SchemeResults(const std::string& folder, const Experiment& experiment,
                   const ExperimentScheme& scheme, const Registry& registry) {
  Json result = DescribeScheme(scheme.text, *scheme.scheme, experiment.settings.context, registry);
  result["cells"] = Json::array();
  for (const std::uint64_t seed : experiment.seeds) {
    const std::string cell = CellFolder(folder, scheme, seed);
    result["cells"].push_back(
        std::filesystem::exists(cell + "/config.json")
            ? CellResult(cell)
            : Json{{"seed", seed}, {"state", "unfinished"}, {"reason", "it has not started"}});
  }
  return result;
}

}  // namespace

Experiment MakeExperiment(const std::vector<std::string>& specs,
                          const std::vector<std::uint64_t>& seeds, const Settings& settings,
                          const std::string& baseline, const Registry& registry) {
  if (specs.empty()) throw Error("compare", "needs at least one scheme");
  if (seeds.empty()) throw Error("compare", "needs at least one seed");
  if (std::set(seeds.begin(), seeds.end()).size() != seeds.size()) {
    throw Error("compare", "a seed is given twice");
  }
  Experiment experiment{{}, seeds, settings, "", "", 1};
  std::vector<std::string> names;
  for (const std::string& spec : specs) {
    const SchemePtr scheme = MakeScheme(spec, settings.model_shape(), registry);
    // The name leaves out what follows the model: it says what was asked for.
    const std::string text = ShortText(*scheme, settings.model_shape(), registry);
    if (std::find(names.begin(), names.end(), text) != names.end()) {
      throw Error("compare", text + " is given twice");
    }
    names.push_back(text);
    experiment.schemes.push_back({scheme, text});
    CheckFits(settings, scheme);
  }
  experiment.baseline = names[0];
  if (!baseline.empty()) {
    const SchemePtr wanted = MakeScheme(baseline, settings.model_shape(), registry);
    experiment.baseline = ShortText(*wanted, settings.model_shape(), registry);
  } else if (std::find(names.begin(), names.end(), "none") != names.end()) {
    experiment.baseline = "none";
  }
  if (std::find(names.begin(), names.end(), experiment.baseline) == names.end()) {
    throw Error("compare", "the baseline " + experiment.baseline + " is not among the schemes",
                "the schemes are " + Join(names));
  }
  return experiment;
}

double EstimateSeconds(const Experiment& experiment, const Dataset& dataset) {
  const Settings& settings = experiment.settings;
  at::set_num_threads(settings.threads);
  double seconds = 0;
  for (const ExperimentScheme& scheme : experiment.schemes) {
    Gpt model(settings, dataset.tokenizer->vocabulary(), scheme.scheme, 1);
    AdamW optimizer(model, {});
    const auto step = [&] {
      const torch::Tensor tokens = torch::zeros({settings.batch, settings.context}, torch::kLong);
      const auto start = Clock::now();
      optimizer.ZeroGradients();
      model.Forward(tokens).logsumexp(-1).mean().backward();
      optimizer.Step(0);
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    step();
    const double per_step = std::min(step(), step());
    const double per_token = per_step / (double(settings.batch) * settings.context);
    const double curve = kForwardShare * settings.curve_tokens *
                         (1 + double(settings.steps) / settings.evaluate_every);
    // Both protocols at each length; longer windows cost more a token.
    double final_tokens = settings.final_tokens;
    for (int multiple = 1; multiple <= settings.longest; multiple *= 2) {
      final_tokens += double(settings.final_tokens) * 2 * (1 + 0.25 * multiple);
    }
    seconds += per_step * settings.steps + per_token * (curve + kForwardShare * final_tokens);
  }
  return seconds * double(experiment.seeds.size()) / experiment.jobs;
}

std::string CellFolder(const std::string& folder, const ExperimentScheme& scheme,
                       std::uint64_t seed) {
  return folder + "/runs/" + FolderName(scheme.text) + "/seed-" + std::to_string(seed);
}

void PrepareExperiment(const std::string& folder, const Experiment& experiment,
                       const Dataset& dataset) {
  const std::string path = folder + "/experiment.json";
  const Json now = Identity(experiment, dataset);
  if (std::filesystem::exists(path)) {
    const Json before = ReadJson(ReadFile(path, kMaxJson), path);
    std::vector<std::string> differing;
    for (const auto& [key, value] : now.items()) {
      if (before.value(key, Json()) != value) differing.push_back(key);
    }
    if (!differing.empty()) {
      throw Error(folder, "holds another experiment: its " + Join(differing) + " differ",
                  "choose another --output, or give the command that made it: see " + path);
    }
    return;
  }
  if (std::filesystem::exists(folder) && !std::filesystem::is_directory(folder)) {
    throw Error(folder, "is a file, a folder is needed");
  }
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder)) {
    throw Error(folder, "is not empty and holds no experiment", "choose another --output");
  }
  SaveDataset(folder + "/data", dataset);
  WriteFile(path, now.dump(2) + "\n");
}

ExperimentState RunExperiment(const std::string& folder, const Experiment& experiment,
                              const Dataset& dataset, const Registry& registry,
                              ProgressLine& progress, const std::function<bool()>& stop) {
  const FolderLock lock(folder);
  std::vector<CellTask> cells;
  // Seed by seed, so that an experiment cut short has all schemes for the first seeds.
  for (const std::uint64_t seed : experiment.seeds) {
    for (const ExperimentScheme& scheme : experiment.schemes) {
      cells.push_back({&scheme, seed, CellFolder(folder, scheme, seed)});
      CreateCell(cells.back().folder, {SpecOf(*scheme.scheme), scheme.text, seed,
                                       experiment.settings, "../../../data", dataset.fingerprint});
    }
  }
  Workers workers(std::move(cells), experiment.settings.steps, dataset, registry, progress, stop);
  return workers.Run(experiment.jobs);
}

Json CollectResults(const std::string& folder, const Experiment& experiment, const Dataset& dataset,
                    const Registry& registry) {
  Json environment = DescribeEnvironment(experiment.settings.threads);
  environment["jobs"] = experiment.jobs;
  Json results = {{"format", "sextant-compare/1"},
                  {"version", "0.1.0"},
                  {"command", experiment.command},
                  {"baseline", experiment.baseline},
                  {"settings", ToJson(experiment.settings)},
                  {"seeds", experiment.seeds},
                  {"data",
                   {{"name", dataset.name},
                    {"train_tokens", dataset.train->size()},
                    {"held_out_tokens", dataset.held_out->size()},
                    {"vocabulary", dataset.tokenizer->vocabulary()},
                    {"bytes_per_token", double(dataset.train->Bytes(0, dataset.train->size())) /
                                            double(dataset.train->size())},
                    {"fingerprint", dataset.fingerprint}}},
                  {"environment", environment},
                  {"schemes", Json::array()}};
  for (const ExperimentScheme& scheme : experiment.schemes) {
    results["schemes"].push_back(SchemeResults(folder, experiment, scheme, registry));
  }
  results["summary"] = Summarize(results);
  return results;
}

}  // namespace sextant::lab
