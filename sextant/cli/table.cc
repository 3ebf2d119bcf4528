// sextant table: the tables a scheme fills.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "sextant/cli/program.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/cli/table_layout.h"
#include "sextant/cli/table_output.h"
#include "sextant/core/error.h"
#include "sextant/formats/file.h"
#include "sextant/formats/npy.h"
#include "sextant/probe/drift.h"
#include "sextant/schemes/layers.h"
#include "sextant/schemes/spec.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string spec;
  std::string positions = "0..31";
  std::string distances = "-32..32";
  std::optional<std::int64_t> head_dim, model_dim, heads, context;
  std::int64_t length = 0;
  std::uint64_t seed = 1;
  bool json = false, plain = false;
  std::string csv, svg, npy, against, format = "f64";
};

ModelShape ShapeOf(const Options& options) {
  ModelShape shape;
  if (options.head_dim) shape["head_dim"] = *options.head_dim;
  if (options.model_dim) shape["model_dim"] = *options.model_dim;
  if (options.heads) shape["heads"] = *options.heads;
  if (options.context) shape["context"] = *options.context;
  return shape;
}

void WriteNoted(const std::string& path, std::string_view bytes, const Session& session) {
  WriteFile(path, bytes);
  session.err << "wrote " << path << "\n";
}

// A position or distance that was given and that no table reads is said so.
void NoteUnused(const CLI::App& command, const ShownTables& shown, const Session& session) {
  const auto note = [&](const char* option, const char* by) {
    session.err << "note: " << shown.label << " has no table by " << by << ", " << option
                << " changes nothing\n";
  };
  if (command.count("--positions") > 0 && !shown.by_position()) note("--positions", "position");
  if (command.count("--distances") > 0 && !shown.by_distance()) note("--distances", "distance");
}

bool WritesFile(const Options& options) {
  return !options.svg.empty() || !options.npy.empty() || !options.csv.empty();
}

void Write(const Options& options, const ShownTables& shown, const Session& session) {
  if (!options.svg.empty()) WriteNoted(options.svg, TablesSvg(shown), session);
  if (!options.npy.empty()) {
    const TablesArray array = TablesAsArray(shown);
    WriteNoted(options.npy, WriteNpy(array.values, array.shape), session);
    session.err << fmt::format("  its axes: {} [{}]\n", array.axes, fmt::join(array.shape, ", "));
  }
  if (options.csv == "-") {
    session.out << TablesCsv(shown);
  } else if (!options.csv.empty()) {
    WriteNoted(options.csv, TablesCsv(shown), session);
  }
}

// Positions as a program sees them that keeps them in a format of few bits.
std::vector<std::int64_t> Kept(std::vector<std::int64_t> positions, const std::string& format,
                               const Session& session) {
  const Rounding rounding = RoundingTo(format);
  if (rounding == nullptr) return positions;
  std::map<std::int64_t, std::int64_t> first;  // by what is kept: the first position kept so
  std::string together;
  for (std::int64_t& position : positions) {
    const double kept = rounding(double(position));
    if (std::isinf(kept)) {
      throw Error("--position-format",
                  "position " + std::to_string(position) + " is infinite in " + format);
    }
    const auto [at, is_new] = first.emplace(std::int64_t(kept), position);
    if (!is_new && together.empty()) {
      together = fmt::format("; {} and {} are the first to fall together", at->second, position);
    }
    position = std::int64_t(kept);
  }
  session.err << fmt::format("note: in {} {} of {} positions are distinct{}\n", format,
                             first.size(), positions.size(), together);
  return positions;
}

// The expected cosine between one vector turned by each of two schemes.
void Compare(const Options& options, const SchemePtr& scheme, const ModelShape& shape,
             const Session& session) {
  const SchemePtr other = MakeScheme(options.against, shape, session.registry);
  const std::vector<std::int64_t> positions = ParseIntegers("--positions", options.positions);
  Index width = options.head_dim.value_or(0);
  for (const SchemePtr& one : {scheme, other}) {
    if (!one->offers(Hook::kRotary) || options.head_dim) continue;
    width = std::max(width, one->rotary_shape().first + one->rotary_shape().rotated_dims);
  }
  const std::vector<double> cosines =
      ExpectedCosines(*scheme, *other, PositionList(positions, options.length), width);
  if (options.json) {
    session.out << JsonText({{"positions", positions}, {"expected_cosine", cosines}});
    return;
  }
  TextTable table({Align::kRight});
  table.Add({"position", "expected cosine"});
  for (std::size_t n = 0; n < positions.size(); ++n) {
    table.Add({std::to_string(positions[n]), fmt::format("{:.6f}", cosines[n])});
  }
  session.out << table.Text();
}

void Run(const CLI::App& command, const Options& options, const Session& session) {
  if (options.spec.empty()) {
    throw Error("table", "needs a scheme", "for example: sextant table sinusoidal");
  }
  if (options.json && options.csv == "-") {
    throw Error("table", "--json and --csv - both write to standard output", "give one a file");
  }
  const ModelShape shape = ShapeOf(options);
  const SchemePtr scheme = MakeScheme(options.spec, shape, session.registry);
  const std::string label = LabelOf(options.spec, *scheme, shape, session.registry);
  if (!options.against.empty()) return Compare(options, scheme, shape, session);
  const std::vector<LabelledScheme> schemes = SchemesOf(label, scheme, shape, session.registry);
  if (schemes.size() > 1 && WritesFile(options)) {
    throw Error("table", label + " has schemes of several layers, a file holds one",
                "ask for the scheme of one layer, or use --json");
  }
  const std::vector<std::int64_t> positions =
      Kept(ParseIntegers("--positions", options.positions), options.format, session);
  Json list = Json::array();
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    ShownTables shown;
    shown.scheme = schemes[i].scheme;
    shown.label = schemes[i].label;
    shown.request = {positions, ParseDistances("--distances", options.distances), options.length,
                     options.seed};
    shown.tables = FillTables(*shown.scheme, shown.request);
    NoteUnused(command, shown, session);
    Write(options, shown, session);
    if (options.json) {
      list.push_back(TablesJson(shown));
      if (schemes.size() > 1) list.back()["layers"] = LayersOfPart(*scheme, i);
    } else if (!WritesFile(options)) {
      session.out << (i > 0 ? "\n" : "")
                  << TablesText(shown, options.plain ? TextForm::kNumbers : TextForm::kAuto,
                                session);
    }
  }
  if (options.json) session.out << JsonText(schemes.size() == 1 ? list[0] : list);
}

}  // namespace

void AddTable(CLI::App& app, const Session& session, int&) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("table", "the tables of a scheme, as numbers or heat map");
  command->allow_extras();
  command->add_option("SPEC", options->spec, "the scheme, like sinusoidal or rope:base=500000");
  command->add_option("--positions", options->positions,
                      "for tables by position: one, a range A..B or a list A,B,C (0..31)");
  command->add_option("--distances", options->distances,
                      "for tables by key position - query position: a range A..B (-32..32)");
  command
      ->add_option("--length", options->length,
                   "of the sequence, for rules that read it (0: the last position plus one)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--head-dim", options->head_dim, "channels of a head, where SPEC is silent");
  command->add_option("--model-dim", options->model_dim,
                      "width of the embedding, where SPEC is silent");
  command->add_option("--heads", options->heads, "attention heads, where SPEC is silent");
  command
      ->add_option("--position-format", options->format,
                   "as a program that keeps positions in this format: f64, f32, f16 or bf16")
      ->check(CLI::IsMember(RoundingNames()))
      ->capture_default_str();
  command->add_option("--against", options->against,
                      "another rotary scheme: how far apart the two turn the same vector");
  command->add_option("--context", options->context,
                      "the longest sequence trained on, where SPEC is silent");
  command->add_option("--seed", options->seed, "of the initial values of learned weights (1)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--plain", options->plain, "numbers, never a picture");
  command->add_flag("--json", options->json, "every number, as JSON");
  command->add_option("--csv", options->csv, "write a CSV file, - for standard output");
  command->add_option("--svg", options->svg, "write a figure as SVG");
  command->add_option("--npy", options->npy, "write the numbers as a NumPy file of float64");
  command->footer(
      "Examples:\n"
      "  sextant table sinusoidal:model_dim=8 --positions 2\n"
      "  sextant table rope --positions 0..47 --svg rope.svg\n"
      "  sextant table alibi:heads=12                        its slopes\n"
      "  sextant table t5:direction=bidirectional --distances -130..130 --json\n"
      "  sextant table rope --against rope:base=500000 --positions 1,10,100,1000");
  command->callback([command, options, &session] {
    RefuseExtras(*command);
    Run(*command, *options, session);
  });
}

}  // namespace sextant::cli
