// `sextant lab`: one training run at a time: run, resume, generate.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "lab/cell.h"
#include "lab/heap.h"
#include "lab/progress.h"
#include "sextant/cli/interrupt.h"
#include "sextant/cli/lab_settings.h"
#include "sextant/cli/program.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

enum class Output { kText, kJson };

void ShowResult(const std::string& folder, Output output, const Session& session) {
  const Json result = lab::CellResult(folder);
  if (output == Output::kJson) {
    session.out << result.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    return;
  }
  session.out << fmt::format("steps {}   {:.0f} tokens/s   weights {}\n", result.value("steps", 0),
                             result.value("tokens_per_second", 0.0), result.value("weights", ""));
  for (const Json& row : result.value("evaluation", Json::array())) {
    session.out << fmt::format("{:<16} length {:<6} ", row.value("protocol", ""),
                               row.value("length", 0));
    if (row.contains("cannot")) {
      session.out << "cannot: " << row["cannot"].get<std::string>() << "\n";
    } else {
      session.out << fmt::format("loss {:.4f}   bits per byte {:.4f}\n", row.value("loss", 0.0),
                                 row.value("bits_per_byte", 0.0));
    }
  }
  const Json space = result.value("embedding_space", Json());
  if (space.is_object()) {
    session.out << fmt::format(
        "after adding a position a token is nearest to itself in {:.2f} % of pairs; {} directions "
        "hold 90 % of the positions and {:.2f} % of the tokens\n",
        100 * space.value("nearest_is_itself", 0.0), space.value("positions_90", 0),
        100 * space.value("token_variance_within", 0.0));
  }
  if (result.contains("sample")) {
    session.out << "\n" << result["sample"].value("text", "") << "\n";
  }
}

int TrainAndShow(const std::string& folder, const lab::Dataset& dataset, Output output,
                 const Session& session) {
  lab::ProgressLine progress(session.err, session.err_is_terminal ? lab::ProgressStyle::kLive
                                                                  : lab::ProgressStyle::kPlain);
  const InterruptFlag interrupt;
  lab::CellWatch watch;
  watch.stop = InterruptFlag::raised;
  watch.progress = [&](const lab::CellProgress& now) {
    progress.Update(fmt::format("step {}/{} loss {:.3f} {:.0f} tokens/s", now.step, now.steps,
                                now.loss, now.tokens_per_second));
  };
  lab::PrepareHeapForTraining();
  const lab::CellState state = lab::RunCell(folder, dataset, session.registry, watch);
  if (state == lab::CellState::kUnfinished) {
    progress.Print("stopped; a checkpoint is saved. Go on with:\n  sextant lab resume " +
                   ShellWord(folder));
    return kInterrupted;
  }
  if (state == lab::CellState::kFailed) {
    progress.Print("stopped: " + lab::CellResult(folder).value("reason", ""));
    return kFindings;
  }
  ShowResult(folder, output, session);
  return kFine;
}

struct RunOptions {
  std::string scheme;
  std::string output;
  std::string data;
  std::uint64_t seed = 1;
  bool json = false;
};

int Run(const RunOptions& options, const SettingsFlags& flags, const Session& session) {
  const lab::Settings settings = flags.settings();
  const ModelShape shape = settings.model_shape();
  const SchemePtr scheme = MakeScheme(options.scheme, shape, session.registry);
  const lab::Dataset dataset = lab::MakeDataset(lab::LoadCorpus(options.data), settings);
  const std::string config = options.output + "/config.json";
  if (!std::filesystem::exists(config) && std::filesystem::exists(options.output) &&
      (!std::filesystem::is_directory(options.output) ||
       !std::filesystem::is_empty(options.output))) {
    throw Error(options.output, "is no run folder and not empty", "choose another --output");
  }
  lab::CreateCell(options.output, {SpecOf(*scheme), ShortText(*scheme, shape, session.registry),
                                   options.seed, settings, "data", dataset.fingerprint});
  lab::SaveDataset(options.output + "/data", dataset);
  return TrainAndShow(options.output, dataset, options.json ? Output::kJson : Output::kText,
                      session);
}

void AddRun(CLI::App& lab, const Session& session, int& exit_code) {
  CLI::App* command = lab.add_subcommand("run", "train one scheme with one seed");
  const auto options = std::make_shared<RunOptions>();
  const auto flags = std::make_shared<SettingsFlags>(*command);
  command->add_option("scheme", options->scheme, "the scheme to train")->required();
  command->add_option("-o,--output", options->output, "folder of the run")->take_last()->required();
  command
      ->add_option("--data", options->data,
                   "text file of stories (- for standard input); without it, built-in stories")
      ->take_last();
  command->add_option("--seed", options->seed, "of weights and batches")
      ->take_last()
      ->capture_default_str();
  command->add_flag("--json", options->json, "print the result as JSON");
  command->footer("Example:\n  sextant lab run rope:base=500000 --steps 200 --output run");
  command->allow_extras();
  command->callback([=, &session, &exit_code] {
    RefuseExtras(*command);
    exit_code = Run(*options, *flags, session);
  });
}

void AddResume(CLI::App& lab, const Session& session, int& exit_code) {
  CLI::App* command = lab.add_subcommand(
      "resume", "go on with a run that was stopped or killed; ends with the same weights");
  const auto folder = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  command->add_option("run", *folder, "a run folder, of lab run or of compare")->required();
  command->add_flag("--json", *json, "print the result as JSON");
  command->footer("Example:\n  sextant lab resume report/runs/rope/seed-1");
  command->callback([=, &session, &exit_code] {
    const lab::CellConfig config = lab::ReadCellConfig(*folder);
    const lab::Dataset dataset = lab::OpenDataset(*folder + "/" + config.data);
    exit_code = TrainAndShow(*folder, dataset, *json ? Output::kJson : Output::kText, session);
  });
}

void AddGenerate(CLI::App& lab, const Session& session, int&) {
  CLI::App* command = lab.add_subcommand("generate", "a story from a trained run");
  const auto folder = std::make_shared<std::string>();
  const auto request = std::make_shared<lab::StoryRequest>();
  command->add_option("run", *folder, "a run folder")->required();
  command->add_option("--prompt", request->prompt, "how the story starts [the run's own prompt]")
      ->take_last();
  command->add_option("--seed", request->seed, "of the sampling")
      ->take_last()
      ->capture_default_str();
  command->add_option("--tokens", request->tokens, "at most [the run's sample_tokens]")
      ->take_last()
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--temperature", request->temperature, "0: likeliest [the run's]")
      ->take_last()
      ->check(CLI::Range(0.0, 100.0));
  command->footer(
      "Example:\n  sextant lab generate report/runs/rope/seed-1 --prompt \"The fox\" --seed 2");
  command->callback([=, &session] {
    session.out << lab::TellStoryOf(*folder, session.registry, *request) << "\n";
  });
}

}  // namespace

void AddLab(CLI::App& app, const Session& session, int& exit_code) {
  CLI::App* lab = app.add_subcommand("lab", "the training runs behind compare, one at a time");
  lab->require_subcommand(1);
  AddRun(*lab, session, exit_code);
  AddResume(*lab, session, exit_code);
  AddGenerate(*lab, session, exit_code);
}

}  // namespace sextant::cli
