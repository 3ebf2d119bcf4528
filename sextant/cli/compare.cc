// `sextant compare`: measure every scheme, train small GPTs with each, write one report.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "lab/experiment.h"
#include "lab/heap.h"
#include "lab/report/html_report.h"
#include "sextant/cli/interrupt.h"
#include "sextant/cli/lab_settings.h"
#include "sextant/cli/program.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/cli/table_layout.h"
#include "sextant/core/error.h"
#include "sextant/formats/file.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFooter =
    "Examples:\n"
    "  sextant compare --output report\n"
    "  sextant compare none rope rope:base=500000 alibi --seeds 3 --steps 800 --output report\n"
    "  xz -dc stories.txt.xz | sextant compare --data - --output report\n"
    "\n"
    "The same command goes on where a stopped or killed one left off, and ends with the same "
    "weights.\n"
    "The folder gets report.html, results.json and a run folder for each scheme and seed.";

struct Options {
  std::vector<std::string> schemes;
  std::string output;
  std::string data;
  std::string baseline;
  int seeds = 3;
  int jobs = 0;
  bool json = false;
};

std::vector<std::uint64_t> Seeds(int count) {
  if (count < 1 || count > 1000) {
    throw Error("compare",
                "seeds must be a whole number from 1 to 1000, got " + std::to_string(count));
  }
  std::vector<std::uint64_t> seeds;
  for (int seed = 1; seed <= count; ++seed) seeds.push_back(static_cast<std::uint64_t>(seed));
  return seeds;
}

int Jobs(int asked, const lab::Settings& settings) {
  if (asked < 0 || asked > 256) {
    throw Error("compare",
                "jobs must be a whole number from 0 to 256, got " + std::to_string(asked));
  }
  if (asked > 0) return asked;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / settings.threads);
}

std::string CommandText(const Options& options, const lab::Settings& settings) {
  std::string text = "sextant compare";
  for (const std::string& scheme : options.schemes) text += " " + ShellWord(scheme);
  text += fmt::format(" --seeds {}", options.seeds);
  if (!options.baseline.empty()) text += " --baseline " + ShellWord(options.baseline);
  if (!options.data.empty()) text += " --data " + ShellWord(options.data);
  return text + FlagsText(settings) + " --output " + ShellWord(options.output);
}

std::string Interval(const Json& figure) {
  if (!figure.is_object() || !figure.contains("mean") || figure["mean"].is_null()) return "-";
  const double mean = figure["mean"].get<double>();
  if (!figure.contains("high") || figure["high"].is_null()) return fmt::format("{:.3f}", mean);
  return fmt::format("{:.3f} +- {:.3f}", mean, figure["high"].get<double>() - mean);
}

// The length row of a scheme's summary: its loss, or that it cannot.
std::string AtMultiple(const Json& scheme, int multiple) {
  for (const Json& row : scheme.value("lengths", Json::array())) {
    if (row.value("protocol", "") != "non-overlapping" || row.value("multiple", 0) != multiple) {
      continue;
    }
    return row.contains("cannot") ? "cannot" : Interval(row.value("loss", Json()));
  }
  return "-";
}

void PrintSummary(std::ostream& out, const Json& results) {
  const int longest = results.at("settings").at("longest").get<int>();
  const Json& schemes = results.at("summary").at("schemes");
  std::size_t width = 24;
  for (const Json& scheme : schemes) {
    width = std::max(width, CharacterCount(scheme.value("scheme", "")));
  }
  const auto line = [&](const std::string& name, const std::string& loss,
                        const std::string& difference, const std::string& twice,
                        const std::string& far) {
    out << fmt::format("| {:<{}} | {:<16} | {:<16} | {:<16} | {:<16} |\n", name, width, loss,
                       difference, twice, far);
  };
  line("scheme", "held-out loss",
       "minus " + results.at("baseline").get<std::string>().substr(0, 10),
       fmt::format("loss at {}x", std::min(2, longest)), fmt::format("loss at {}x", longest));
  out << fmt::format("|{:-<{}}|{:-<18}|{:-<18}|{:-<18}|{:-<18}|\n", "", width + 2, "", "", "", "");
  for (const Json& scheme : schemes) {
    line(scheme.value("scheme", ""), Interval(scheme.value("loss", Json())),
         Interval(scheme.value("difference", Json())), AtMultiple(scheme, std::min(2, longest)),
         AtMultiple(scheme, longest));
  }
  out << fmt::format(
      "Nats a token, mean over {} seeds with its 95 % interval; lengths by non-overlapping "
      "windows.\n",
      results.at("seeds").size());
}

int Compare(const Options& options, const SettingsFlags& flags, const Session& session) {
  const lab::Settings settings = flags.settings();
  lab::Experiment experiment = lab::MakeExperiment(options.schemes, Seeds(options.seeds), settings,
                                                   options.baseline, session.registry);
  experiment.jobs = Jobs(options.jobs, settings);
  experiment.command = CommandText(options, settings);
  lab::ProgressLine progress(session.err, session.err_is_terminal ? lab::ProgressStyle::kLive
                                                                  : lab::ProgressStyle::kPlain);
  progress.Print("reading and tokenizing the text");
  const lab::Dataset dataset = lab::MakeDataset(lab::LoadCorpus(options.data), settings);
  lab::PrepareExperiment(options.output, experiment, dataset);
  lab::PrepareHeapForTraining();
  progress.Print(fmt::format("{} schemes x {} seeds, {} steps of {} tokens each, {} at once",
                             experiment.schemes.size(), experiment.seeds.size(), settings.steps,
                             settings.batch * settings.context, experiment.jobs));
  progress.Print("expected time: about " +
                 lab::DurationText(lab::EstimateSeconds(experiment, dataset)));
  const InterruptFlag interrupt;
  const lab::ExperimentState state = lab::RunExperiment(
      options.output, experiment, dataset, session.registry, progress, InterruptFlag::raised);
  const Json results = lab::CollectResults(options.output, experiment, dataset, session.registry);
  const std::string text = results.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  WriteFile(options.output + "/results.json", text);
  WriteFile(options.output + "/report.html", lab::RenderReport(results));
  if (state == lab::ExperimentState::kStopped) {
    progress.Print("stopped; everything so far is saved. Go on with:\n  " + experiment.command);
    return kInterrupted;
  }
  if (options.json) {
    session.out << text;
  } else {
    PrintSummary(session.out, results);
  }
  progress.Print("report: " + options.output + "/report.html");
  return state == lab::ExperimentState::kSomeFailed ? kFindings : kFine;
}

}  // namespace

void AddCompare(CLI::App& app, const Session& session, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("compare", "measure schemes and train small GPTs with each; one report");
  const auto options = std::make_shared<Options>();
  const auto flags = std::make_shared<SettingsFlags>(*command);
  options->schemes = {"none", "sinusoidal", "learned", "t5", "alibi", "rope", "shaw"};
  command->add_option("schemes", options->schemes, "schemes to compare")->capture_default_str();
  command->add_option("-o,--output", options->output, "folder for the report and the runs")
      ->take_last()
      ->required();
  command
      ->add_option("--data", options->data,
                   "text file of stories (- for standard input); without it, built-in stories")
      ->take_last();
  command->add_option("--seeds", options->seeds, "how many seeds, from 1 on")
      ->take_last()
      ->capture_default_str();
  command
      ->add_option("--baseline", options->baseline,
                   "scheme that differences are taken to [none if compared, else the first]")
      ->take_last();
  command->add_option("--jobs", options->jobs, "runs at once; 0: one a core")
      ->take_last()
      ->capture_default_str();
  command->add_flag("--json", options->json, "print results.json instead of the table");
  command->footer(kFooter);
  command->allow_extras();
  command->callback([=, &session, &exit_code] {
    RefuseExtras(*command);
    exit_code = Compare(*options, *flags, session);
  });
}

}  // namespace sextant::cli
