// sextant vectors: golden vectors for a port, and what is wrong with a port's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "sextant/cli/program.h"
#include "sextant/cli/table_arguments.h"
#include "sextant/cli/table_layout.h"
#include "sextant/core/error.h"
#include "sextant/formats/file.h"
#include "sextant/formats/json.h"
#include "sextant/formats/npz.h"
#include "sextant/vectors/check.h"
#include "sextant/vectors/golden.h"

namespace sextant::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMaxFile = std::size_t{256} << 20;

struct Options {
  std::string spec, positions, inputs, dtype = "f64", mask = "causal", npz;
  std::optional<std::int64_t> heads, head_dim, model_dim, context;
  std::int64_t length = 0;
  std::uint64_t seed = 1;
  bool json = false;
};

struct CheckOptions {
  std::string file, against;
  bool json = false;
};

// Axes are separated by semicolons: "0..7;0..7;5,5,5,5,6,6,6,6".
std::vector<std::vector<std::int64_t>> ParseAxes(std::string_view text) {
  std::vector<std::vector<std::int64_t>> axes;
  for (;;) {
    const std::size_t end = text.find(';');
    axes.push_back(ParseIntegers("--positions", text.substr(0, end)));
    if (end == std::string_view::npos) return axes;
    text.remove_prefix(end + 1);
  }
}

Json ReadJsonFile(const std::string& path) {
  return ReadJson(ReadFile(path, kMaxFile), path, kMaxFile);
}

VectorsRequest RequestOf(const Options& options) {
  VectorsRequest request;
  request.spec = options.spec;
  request.heads = options.heads;
  request.head_dim = options.head_dim;
  request.model_dim = options.model_dim;
  request.context = options.context;
  request.length = options.length;
  request.seed = options.seed;
  if (options.mask == "none") request.mask = VectorsMask::kNone;
  if (!options.positions.empty()) request.positions = ParseAxes(options.positions);
  if (!options.inputs.empty()) {
    request.given = ArraysFromJson(ReadJsonFile(options.inputs), options.inputs);
  }
  return request;
}

// Inputs and weights are rounded first, so that a port that works in the format has the same ones;
// everything else is computed in double from them and rounded once.
GoldenVectors MakeIn(Rounding rounding, VectorsRequest request, const Registry& registry) {
  GoldenVectors vectors = MakeVectors(request, registry);
  if (rounding == nullptr) return vectors;
  request = vectors.request;
  request.given.clear();
  for (NamedArray& array : vectors.arrays) {
    if (!array.name.starts_with("inputs.") && !array.name.starts_with("weights.")) continue;
    std::transform(array.values.begin(), array.values.end(), array.values.begin(), rounding);
    request.given.push_back(std::move(array));
  }
  vectors = MakeVectors(request, registry);
  for (NamedArray& array : vectors.arrays) {
    std::transform(array.values.begin(), array.values.end(), array.values.begin(), rounding);
  }
  return vectors;
}

void PrintSummary(const GoldenVectors& vectors, const Session& session) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight});
  table.Add({"array", "shape", "first numbers"});
  for (const NamedArray& array : vectors.arrays) {
    std::string first;
    for (std::size_t i = 0; i < std::min<std::size_t>(array.values.size(), 4); ++i) {
      first += i > 0 ? " " : "";
      first += std::isnan(array.values[i]) ? "hidden" : fmt::format("{:.6f}", array.values[i]);
    }
    table.Add({array.name, fmt::format("[{}]", fmt::join(array.shape, ", ")), first});
  }
  session.out << table.Text()
              << "\n--json or --npz FILE writes every number; change what your port computes and\n"
                 "sextant vectors check FILE says what differs.\n";
}

void Write(const Options& options, const Session& session) {
  if (options.spec.empty()) {
    throw Error("vectors", "needs a scheme", "for example: sextant vectors rope --json");
  }
  GoldenVectors vectors = MakeIn(RoundingTo(options.dtype), RequestOf(options), session.registry);
  Json json = ToJson(vectors);
  json["dtype"] = options.dtype;
  if (!options.npz.empty()) {
    NpzArrays arrays;
    for (NamedArray& array : vectors.arrays) {
      arrays.emplace_back(array.name, NpyArray{array.shape, array.values});
    }
    WriteFile(options.npz, WriteNpz(arrays));
    session.err << "wrote " << options.npz << "\n";
  }
  if (options.json) {
    session.out << JsonText(json);
  } else if (options.npz.empty()) {
    PrintSummary(vectors, session);
  }
}

// A port's arrays, and what says how the right ones are made.
struct PortFile {
  std::vector<NamedArray> arrays;
  VectorsRequest request;
};

PortFile ReadPort(const CheckOptions& options) {
  PortFile port;
  if (options.file.ends_with(".npz")) {
    if (options.against.empty()) {
      throw Error("vectors check", "an .npz file does not say which scheme it is of",
                  "name the JSON that `sextant vectors SPEC --json` wrote by --against");
    }
    for (auto& [name, array] : ReadNpz(ReadFile(options.file, kMaxFile), options.file)) {
      port.arrays.push_back({name, array.shape, std::move(array.values)});
    }
  } else {
    const Json json = ReadJsonFile(options.file);
    port.arrays = ArraysFromJson(json, options.file);
    if (options.against.empty()) port.request = RequestFromJson(json, options.file);
  }
  if (!options.against.empty()) {
    port.request = RequestFromJson(ReadJsonFile(options.against), options.against);
  }
  return port;
}

const char* VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
    case Verdict::kRounding:
      return "ok";
    case Verdict::kHarmless:
      return "harmless";
    case Verdict::kMistake:
      return "WRONG";
    case Verdict::kUnknown:
      return "DIFFERS";
  }
  return "";
}

bool IsFinding(const Difference& difference) {
  return difference.verdict == Verdict::kMistake || difference.verdict == Verdict::kUnknown;
}

int Check(const CheckOptions& options, const Session& session) {
  const PortFile port = ReadPort(options);
  const GoldenVectors right = MakeVectors(port.request, session.registry);
  const std::vector<Difference> differences = CheckVectors(right, port.arrays, session.registry);
  if (differences.empty()) {
    throw UnreadableInput(options.file, "holds no array to compare",
                          "give at least one of tables, figures, encoded, scores and output, "
                          "named as `sextant vectors` names them");
  }
  const bool wrong = std::any_of(differences.begin(), differences.end(), IsFinding);
  if (options.json) {
    Json list = Json::array();
    for (const Difference& difference : differences) {
      list.push_back({{"array", difference.array},
                      {"verdict", VerdictText(difference.verdict)},
                      {"kind", difference.kind},
                      {"explanation", difference.explanation},
                      {"largest", difference.largest},
                      {"relative", difference.relative},
                      {"where", difference.where}});
    }
    session.out << JsonText(list);
    return wrong ? kFindings : kFine;
  }
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  table.Add({"array", "", "largest", "what kind of difference"});
  for (const Difference& difference : differences) {
    table.Add({difference.array, VerdictText(difference.verdict),
               fmt::format("{:.2g}", difference.largest),
               (difference.kind.empty() ? "" : difference.kind + ": ") + difference.explanation});
  }
  session.out << table.Text();
  for (const Difference& difference : differences) {
    if (!IsFinding(difference)) continue;
    session.out << "\nlargest in " << difference.array << " at " << difference.where << "\n";
    break;
  }
  return wrong ? kFindings : kFine;
}

void AddCheck(CLI::App& vectors, const Session& session, int& exit_code) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command = vectors.add_subcommand("check", "what is wrong with a port's numbers");
  command->allow_extras();
  command
      ->add_option("FILE", options->file,
                   "the JSON of `sextant vectors` with the port's numbers in place of ours, or "
                   "some of them; or an .npz")
      ->required();
  command->add_option("--against", options->against,
                      "the JSON that `sextant vectors` wrote, where FILE has no spec");
  command->add_flag("--json", options->json, "the findings as JSON");
  command->footer(
      "Exit code 1 if something is wrong. Example:\n"
      "  sextant vectors rope --json > right.json     (your port fills port.json from its inputs)\n"
      "  sextant vectors check port.json --against right.json");
  command->callback([command, options, &session, &exit_code] {
    RefuseExtras(*command);
    exit_code = Check(*options, session);
  });
}

}  // namespace

void AddVectors(CLI::App& app, const Session& session, int& exit_code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("vectors", "golden vectors for a port, and what differs in a port's");
  command->allow_extras();
  command->require_subcommand(0, 1);
  command->add_option("SPEC", options->spec, "the scheme, like rope:base=500000");
  command->add_option("--positions", options->positions,
                      "a range A..B or a list, one for each axis with ; between (0, 1, 2, 7, 257, "
                      "4095, 8191, 131071, or 0..15 for schemes by distance)");
  command->add_option("--length", options->length,
                      "of the sequence, for rules that read it (0: the last position plus one)");
  command->add_option("--heads", options->heads, "attention heads (what SPEC has, else 2)");
  command->add_option("--head-dim", options->head_dim, "channels of a head (SPEC's, else 8)");
  command->add_option("--model-dim", options->model_dim, "width (heads times head-dim)");
  command->add_option("--context", options->context, "the longest sequence trained on");
  command->add_option("--mask", options->mask, "causal or none")
      ->check(CLI::IsMember({"causal", "none"}))
      ->capture_default_str();
  command
      ->add_option("--dtype", options->dtype,
                   "round inputs to this format first and every result once")
      ->check(CLI::IsMember(RoundingNames()))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of inputs and initial weights (1)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--inputs", options->inputs,
                      "a JSON file with \"inputs\" and \"weights\" to use instead of seeded ones");
  command->add_flag("--json", options->json, "every number, as JSON");
  command->add_option("--npz", options->npz, "write a NumPy file of float64 arrays");
  command->footer(
      "Examples:\n"
      "  sextant vectors rope:pairing=adjacent --json > right.json\n"
      "  sextant vectors alibi:heads=12 --positions 0..31 --npz alibi.npz\n"
      "  sextant vectors rope:axes=sections,sections=[16,24,24],rotated_dims=128 \\\n"
      "    --positions '0..3;0,0,1,1;0,1,0,1' --dtype bf16 --json\n"
      "  sextant vectors check port.json");
  AddCheck(*command, session, exit_code);
  command->callback([command, options, &session] {
    if (!command->get_subcommands().empty()) return;
    RefuseExtras(*command);
    Write(*options, session);
  });
}

}  // namespace sextant::cli
