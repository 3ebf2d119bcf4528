// The results of `sextant compare` as values: what the summary and the report are made from.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sextant::lab {

inline constexpr const char* kResultsFormat = "sextant-compare/1";

// A named value as text, in the order of the document.
using NamedText = std::pair<std::string, std::string>;

struct CurvePoint {
  std::int64_t step = 0;
  std::optional<double> tokens, held_out_loss;
};

// A held-out loss under a protocol at a length, or why there is none.
struct Evaluation {
  std::string protocol;
  std::int64_t length = 0;
  double multiple = 0;  // of the training length
  std::optional<double> loss, bits_per_byte;
  std::string cannot;
};

// The loss of the positions from <= position < to.
struct PositionLoss {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::optional<double> loss;
};

enum class State { kFinished, kUnfinished, kFailed };

// One training run: a scheme with a seed.
struct Cell {
  std::int64_t seed = 0;
  State state = State::kUnfinished;
  std::string reason;
  std::optional<double> steps, tokens, seconds, tokens_per_second, parameters;
  std::string weights;
  std::vector<CurvePoint> curve;
  std::vector<Evaluation> evaluation;
  std::vector<PositionLoss> by_position;
  std::optional<double> norm_before, norm_after;  // of positions over that of tokens
  std::string prompt, story;

  bool finished() const { return state == State::kFinished; }
};

struct RequirementResult {
  std::string name;
  std::optional<bool> holds;
  std::optional<double> number;
  std::string meaning;
};

struct ProbeResult {
  std::optional<double> range, anchor_spread, norm_ratio;
  std::optional<bool> relative;
  std::vector<double> offsets, anchors;
  std::vector<std::vector<double>> scores;  // [anchors][offsets]
  std::vector<RequirementResult> requirements;
  std::string note;  // what the numbers depend on
};

// The labels of its rows (columns) are numbers, a step apart: "row_first", "row_step",
// "column_first" and "column_step" of the document, 0 and 1 where not given.
struct TableResult {
  std::string kind, row_label, column_label;
  double first_row = 0;
  double row_step = 1;
  double first_column = 0;
  double column_step = 1;
  std::vector<std::vector<double>> rows;
};

struct SchemeResult {
  std::string name;                // told apart from every other by " (2)" where two are alike
  std::vector<std::string> parts;  // names of schemes: {"rope"}, {"sinusoidal", "learned"}
  bool plain_frequencies = true;   // no rule stretches the frequencies of a rotary part
  std::string spec, title, formula, source;
  std::vector<std::string> hooks;
  std::vector<std::pair<std::string, bool>> claims;
  std::optional<ProbeResult> probe;
  std::optional<TableResult> table;
  std::vector<Cell> cells;

  bool AnyFinished() const;
};

// Schemes with a finished cell come first, else all in the order of the document: the series of
// every figure, so that a scheme has one colour throughout.
struct Results {
  std::string version, command, baseline;
  std::vector<NamedText> settings, data, environment;
  std::vector<std::int64_t> seeds;
  std::int64_t context = 0;  // the training length, 0 where not known
  std::vector<SchemeResult> schemes;
};

// Throws Error where `json` is not an object with the format above. Everything else that is missing
// or malformed is left out.
Results ReadResults(const nlohmann::ordered_json& json);

}  // namespace sextant::lab
