// sextant probe: scores by offset from several anchors, readouts and requirements.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "sextant/cli/probe_output.h"
#include "sextant/cli/program.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/cli/table_layout.h"
#include "sextant/core/error.h"
#include "sextant/formats/file.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

struct Options {
  std::vector<std::string> specs;
  std::string anchors = "0,8,24";
  ProbeSettings settings;
  bool json = false, plain = false;
  std::string svg;
};

void Run(const Options& options, const Session& session) {
  if (options.specs.empty()) {
    throw Error("probe", "needs at least one scheme",
                "for example: sextant probe none sinusoidal rope");
  }
  ProbeSettings settings = options.settings;
  settings.anchors = ParseIntegers("--anchors", options.anchors);
  CheckSettings(settings);
  const ModelShape shape = ProbeShape(settings.head_dim);
  std::vector<LabelledScheme> schemes;
  for (const std::string& spec : options.specs) {
    const SchemePtr scheme = MakeScheme(spec, shape, session.registry);
    const std::string label = LabelOf(spec, *scheme, shape, session.registry);
    for (LabelledScheme& one : SchemesOf(label, scheme, shape, session.registry)) {
      schemes.push_back(std::move(one));
    }
  }
  std::vector<ProbedScheme> probed;
  for (const auto& [label, scheme] : schemes) probed.push_back(Measure(label, scheme, settings));
  if (!options.svg.empty()) {
    WriteFile(options.svg, ProbeSvg(probed, settings));
    session.err << "wrote " << options.svg << "\n";
  }
  if (options.json) {
    session.out << JsonText(ProbeJson(probed, settings));
    return;
  }
  session.out << ProbeText(probed, settings, options.plain ? ProbeForm::kNumbers : ProbeForm::kFull,
                           session);
}

}  // namespace

void AddProbe(CLI::App& app, const Session& session, int&) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("probe", "score by offset from several anchors, and what it shows");
  command->allow_extras();
  command->add_option("SPEC", options->specs, "schemes, like none rope alibi:heads=12");
  command->add_option("--anchors", options->anchors, "positions of the query (0,8,24)");
  command->add_option("--offsets", options->settings.offsets,
                      "how many keys, from the query's position on (32)");
  command->add_option("--head-dim", options->settings.head_dim, "channels of a head (64)");
  command
      ->add_option("--seed", options->settings.seed,
                   "of the query, the key and the initial values of learned weights (1)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--plain", options->plain, "scores as numbers instead of curves");
  command->add_flag("--json", options->json, "everything measured, as JSON");
  command->add_option("--svg", options->svg, "write the curves as SVG");
  command->footer(
      "Examples:\n"
      "  sextant probe none sinusoidal rope              the lecture's three schemes\n"
      "  sextant probe rope:pairing=adjacent --plain     its scores as numbers\n"
      "  sextant probe none learned t5 alibi --json\n"
      "  sextant probe sinusoidal rope --offsets 128 --svg curves.svg\n"
      "Every scheme gets the same query and key. Relative means that anchors agree to rounding.");
  command->callback([command, options, &session] {
    RefuseExtras(*command);
    Run(*options, session);
  });
}

}  // namespace sextant::cli
