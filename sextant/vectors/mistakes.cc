// What ports get wrong, one change at a time.
#include "sextant/vectors/mistakes.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "sextant/core/error.h"
#include "sextant/core/half.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr double kBases[] = {100,   500, 1000, 1e4, 2e4, 2.5e4, 1e5, 1.5e5,
                             1.6e5, 5e5, 1e6,  2e6, 5e6, 1e7,   1e8};
// Sizes: another value changes shapes, which is found before.
constexpr const char* kSizes[] = {"heads", "head_dim", "model_dim", "positions", "init_std"};

struct Kind {
  std::string_view setting;
  std::string_view kind;
};
constexpr Kind kKinds[] = {
    {"pairing", "other pairing"},       {"frequencies.rule", "other frequency rule"},
    {"axes.rule", "other axis layout"}, {"base", "other base"},
    {"factor", "missing factor"},       {"attention_factor", "missing factor"},
    {"mscale", "missing factor"},       {"mscale_all_dim", "missing factor"},
    {"softmax", "missing factor"},      {"scale", "missing factor"},
    {"offset", "shifted by one"},       {"numerics", "precision"},
};

std::string KindOf(const std::string& path) {
  for (const Kind& kind : kKinds) {
    if (path == kind.setting || path.substr(path.rfind('.') + 1) == kind.setting) {
      return std::string(kind.kind);
    }
  }
  return "other " + path.substr(path.rfind('.') + 1);
}

class Changes {
 public:
  Changes(const GoldenVectors& right, const Registry& registry)
      : right_(right), registry_(registry), spec_(SpecOf(*right.scheme)) {}

  std::vector<Mistake> All() {
    std::vector<SchemePtr> parts = right_.scheme->parts();
    if (parts.empty()) parts = {right_.scheme};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const Parameter& parameter : parts[part]->parameters()) Add(part, parameter);
    }
    AddFrequencies();
    AddPositions();
    return std::move(mistakes_);
  }

 private:
  void Add(std::size_t part, const Parameter& parameter) {
    if (std::find(std::begin(kSizes), std::end(kSizes), parameter.path) != std::end(kSizes)) return;
    if (parameter.type == "choice") {
      for (const std::string& choice : parameter.choices) {
        if (ParameterValue(choice) != parameter.value) AddChange(part, parameter, choice);
      }
      return;
    }
    for (double value : OtherNumbers(parameter)) {
      if (parameter.type == "integer") {
        AddChange(part, parameter, std::int64_t(value));
      } else {
        AddChange(part, parameter, value);
      }
    }
  }

  // Numbers a port may have used instead.
  std::vector<double> OtherNumbers(const Parameter& parameter) const {
    double value = 0;
    if (const auto* whole = std::get_if<std::int64_t>(&parameter.value)) {
      value = double(*whole);
    } else if (const auto* number = std::get_if<double>(&parameter.value)) {
      value = *number;
    } else {
      return {};
    }
    std::vector<double> numbers;
    if (parameter.path == "base" || parameter.path.ends_with(".base")) {
      numbers.assign(std::begin(kBases), std::end(kBases));
    } else {
      numbers = {0, 1, -1, value + 1, value - 1, 2 * value, value / 2};
      if (parameter.path == "rotated_dims") numbers.push_back(double(*right_.request.head_dim));
    }
    std::vector<double> others;
    for (double number : numbers) {
      if (number == value || number < parameter.minimum || number > parameter.maximum) continue;
      if (parameter.type == "integer" && number != std::floor(number)) continue;
      if (std::find(others.begin(), others.end(), number) == others.end()) others.push_back(number);
    }
    return others;
  }

  void AddChange(std::size_t part, const Parameter& parameter, const ParameterValue& value) {
    mistakes_.push_back({KindOf(parameter.path),
                         "as with " + ShortName(parameter.path) + "=" + ToText(value) +
                             " instead of " + ToText(parameter.value),
                         [=, this] { return Make(Changed(part, parameter.path, value)); }});
  }

  // The spec with one setting changed; another rule keeps only the base of the old one.
  Spec Changed(std::size_t part, const std::string& path, const ParameterValue& value) const {
    Spec spec = spec_;
    ParameterValues& settings = spec.parts[part].settings;
    if (path.ends_with(".rule")) {
      const std::string group = path.substr(0, path.size() - 4);
      std::erase_if(settings, [&](const auto& setting) {
        return setting.first.starts_with(group) && !setting.first.ends_with(".base");
      });
    } else {
      std::erase_if(settings, [&](const auto& setting) { return setting.first == path; });
    }
    settings.insert(settings.begin(), {path, value});
    return spec;
  }

  GoldenVectors Make(const Spec& spec) const {
    VectorsRequest request = Request();
    request.spec = ToText(spec);
    return MakeVectors(request, registry_);
  }

  // What made the right vectors, with the inputs and weights they have.
  VectorsRequest Request() const {
    VectorsRequest request = right_.request;
    request.spec = ToText(spec_);
    request.given.clear();
    for (const NamedArray& array : right_.arrays) {
      if (array.name.starts_with("inputs.") || array.name.starts_with("weights.")) {
        request.given.push_back(array);
      }
    }
    return request;
  }

  void AddFrequency(const std::string& kind, const std::string& explanation,
                    std::vector<double> inv_freq) {
    Spec spec = Changed(0, "frequencies.rule", std::string("given"));
    std::erase_if(spec.parts[0].settings,
                  [](const auto& setting) { return setting.first == "frequencies.base"; });
    spec.parts[0].settings.emplace_back("frequencies.inv_freq", std::move(inv_freq));
    mistakes_.push_back({kind, explanation, [=, this] { return Make(spec); }});
  }

  // Frequencies that no setting gives.
  void AddFrequencies() {
    const NamedArray* inv_freq = right_.Find("figures.inv_freq");
    if (inv_freq == nullptr || spec_.parts.size() != 1) return;
    std::vector<double> rounded = inv_freq->values, wide = inv_freq->values;
    for (double& frequency : rounded) frequency = RoundToBf16(frequency);
    AddFrequency("precision", "as with inv_freq rounded to bf16", rounded);
    if (wide.size() < 2 || Index(2 * wide.size()) >= *right_.request.head_dim) return;
    const double exponent = 2 * double(wide.size()) / double(*right_.request.head_dim);
    for (double& frequency : wide) frequency = std::pow(frequency, exponent);
    AddFrequency("head width in the exponent",
                 "as with exponents 2i / head_dim instead of 2i / rotated_dims", wide);
  }

  void AddPositions() {
    const auto moved = [&](const char* kind, const std::string& explanation, auto change) {
      mistakes_.push_back({kind, explanation, [=, this] {
                             VectorsRequest request = Request();
                             change(request);
                             return MakeVectors(request, registry_);
                           }});
    };
    const auto each = [](auto change) {
      return [=](VectorsRequest& request) {
        for (auto& axis : request.positions) {
          for (std::int64_t& position : axis) position = change(position);
        }
      };
    };
    for (std::int64_t by : {1, -1, 2}) {
      const std::string text = std::to_string(by);
      const auto shift = [by](std::int64_t p) { return p + by; };
      moved("shifted by one", "as with " + text + " added to every position", each(shift));
      moved("shifted by one", "as with " + text + " added to the positions of queries alone",
            [by](VectorsRequest& request) { request.query_shift = by; });
      moved("shifted by one", "as with " + text + " added to the positions of keys alone",
            [by](VectorsRequest& request) { request.key_shift = by; });
    }
    moved("sign", "as with every position negated (the angle or the distance has the other sign)",
          each([](std::int64_t p) { return -p; }));
    moved("positions ignored", "as with every position 0",
          each([](std::int64_t) { return std::int64_t{0}; }));
    moved("precision", "as with positions rounded to bf16 (257 becomes 256)",
          each([](std::int64_t p) { return std::int64_t(RoundToBf16(double(p))); }));
    moved("other length", "as with a sequence length of one",
          [](VectorsRequest& request) { request.length = 1; });
  }

  const GoldenVectors& right_;
  const Registry& registry_;
  Spec spec_;
  std::vector<Mistake> mistakes_;
};

// Rows of the last axis, each put into another order.
std::vector<double> Reordered(const NamedArray& array, const std::vector<std::size_t>& order) {
  std::vector<double> values = array.values;
  for (std::size_t row = 0; row + order.size() <= values.size(); row += order.size()) {
    for (std::size_t c = 0; c < order.size(); ++c) values[row + c] = array.values[row + order[c]];
  }
  return values;
}

// The output order of one pairing when the other was meant, within the rotated window.
std::vector<std::size_t> SplitOrder(const RotaryShape& shape, std::size_t width, bool split) {
  std::vector<std::size_t> order(width);
  for (std::size_t c = 0; c < width; ++c) order[c] = c;
  const auto half = std::size_t(shape.rotated_dims / 2), first = std::size_t(shape.first);
  for (std::size_t i = 0; i < half; ++i) {
    for (std::size_t part = 0; part < 2; ++part) {
      const std::size_t halves = first + part * half + i, adjacent = first + 2 * i + part;
      if (split) {
        order[halves] = adjacent;
      } else {
        order[adjacent] = halves;
      }
    }
  }
  return order;
}

// The angle table [t0, t0, t1, t1, ..] of adjacent pairs under the rotation of halves.
std::vector<double> Mixed(const GoldenVectors& right, const NamedArray& encoded) {
  const bool of_keys = encoded.name == "encoded.key" && right.Find("tables.key_cos") != nullptr;
  const NamedArray* cos = right.Find(of_keys ? "tables.key_cos" : "tables.cos");
  const NamedArray* sin = right.Find(of_keys ? "tables.key_sin" : "tables.sin");
  const NamedArray* input =
      right.Find(encoded.name == "encoded.key" ? "inputs.key" : "inputs.query");
  const RotaryShape shape = right.scheme->rotary_shape();
  const auto width = std::size_t(encoded.shape[2]), count = std::size_t(encoded.shape[1]);
  const auto half = std::size_t(shape.rotated_dims / 2), first = std::size_t(shape.first);
  std::vector<double> values = input->values;
  for (std::size_t row = 0; row * width < values.size(); ++row) {
    const double* x = input->values.data() + row * width + first;
    double* y = values.data() + row * width + first;
    const std::size_t table = row % count * half;
    for (std::size_t c = 0; c < 2 * half; ++c) {
      const double turned = c < half ? -x[c + half] : x[c - half];
      y[c] = x[c] * cos->values[table + c / 2] + turned * sin->values[table + c / 2];
    }
  }
  return values;
}

}  // namespace

std::vector<Mistake> MistakesOf(const GoldenVectors& right, const Registry& registry) {
  // The list outlives the object that makes it, and its members call back into that object.
  const auto changes = std::make_shared<Changes>(right, registry);
  std::vector<Mistake> mistakes = changes->All();
  for (Mistake& mistake : mistakes) {
    mistake.make = [changes, make = std::move(mistake.make)] { return make(); };
  }
  return mistakes;
}

std::vector<ArrayMistake> ArrayMistakes(const GoldenVectors& right) {
  std::vector<ArrayMistake> mistakes;
  mistakes.push_back({"sign", "every number has the other sign", [](const NamedArray& array) {
                        std::vector<double> values = array.values;
                        for (double& value : values) value = -value;
                        return values;
                      }});
  mistakes.push_back({"sign", "distances run the other way (query - key for key - query)",
                      [](const NamedArray& array) -> std::vector<double> {
                        if (array.name != "tables.bias") return {};
                        const auto width = std::size_t(array.shape.back());
                        std::vector<std::size_t> order(width);
                        for (std::size_t c = 0; c < width; ++c) order[c] = width - 1 - c;
                        return Reordered(array, order);
                      }});
  mistakes.push_back({"sines and cosines swapped", "the table of the other function",
                      [&right](const NamedArray& array) -> std::vector<double> {
                        const NamedArray* other = nullptr;
                        if (array.name == "tables.cos") other = right.Find("tables.sin");
                        if (array.name == "tables.sin") other = right.Find("tables.cos");
                        return other == nullptr ? std::vector<double>() : other->values;
                      }});
  if (!right.scheme->offers(Hook::kRotary) || right.scheme->rotary_shape().blocks != 1) {
    return mistakes;
  }
  const RotaryShape shape = right.scheme->rotary_shape();
  const auto encoded = [](const NamedArray& array) { return array.name.starts_with("encoded."); };
  for (const bool split : {true, false}) {
    mistakes.push_back(
        {"other order of the output",
         std::string("the rotation is right, its output is left ") +
             (split ? "de-interleaved (cosine parts, then sine parts)" : "interleaved") +
             "; scores are right if queries and keys both are",
         [=](const NamedArray& array) -> std::vector<double> {
           if (!encoded(array)) return {};
           return Reordered(array, SplitOrder(shape, std::size_t(array.shape[2]), split));
         }});
  }
  if (shape.pairing == Pairing::kHalves) {
    mistakes.push_back({"no rotation",
                        "the angles of adjacent pairs [t0, t0, t1, t1, ..] with the rotation of "
                        "halves: norms change and positions are not relative",
                        [=, &right](const NamedArray& array) -> std::vector<double> {
                          if (!encoded(array)) return {};
                          return Mixed(right, array);
                        }});
  }
  return mistakes;
}

}  // namespace sextant
