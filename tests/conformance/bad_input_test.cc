// Every parameter of every scheme and rule refuses what lies outside its range, and says the range.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sextant/core/error.h"
#include "sextant/schemes/registry.h"

namespace sextant {
namespace {

const ModelShape kShape = {{"heads", 4}, {"head_dim", 64}, {"model_dim", 256}, {"context", 2048}};

struct Listed {
  const SchemeEntry* entry;
  ParameterValues rule;  // the choice of a rule that brings the parameter
  Parameter parameter;
};

// Every parameter, under each rule that has it.
std::vector<Listed> AllParameters() {
  std::vector<Listed> all;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    std::vector<ParameterValues> rules = {{}};
    for (const Parameter& parameter : entry.parameters) {
      if (!parameter.path.ends_with(".rule")) continue;
      for (const std::string& choice : parameter.choices) {
        rules.push_back({{parameter.path, choice}});
      }
    }
    std::set<std::string> seen;
    for (const ParameterValues& rule : rules) {
      for (const Parameter& parameter : entry.list(rule, kShape)) {
        const std::string key = rule.empty() ? "" : ToText(rule[0].second);
        if (!rule.empty() &&
            !parameter.path.starts_with(rule[0].first.substr(0, rule[0].first.size() - 4))) {
          continue;
        }
        if (seen.insert(key + " " + parameter.path).second) {
          all.push_back({&entry, rule, parameter});
        }
      }
    }
  }
  return all;
}

std::string Refusal(const Listed& listed, const ParameterValue& value) {
  ParameterValues given;
  for (const auto& setting : listed.rule) {
    if (setting.first != listed.parameter.path) given.push_back(setting);
  }
  given.emplace_back(listed.parameter.path, value);
  try {
    listed.entry->make(given, kShape);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BadInputTest, NumbersOutsideTheirRangeAreRefusedWithTheRange) {
  int tried = 0;
  for (const Listed& listed : AllParameters()) {
    const Parameter& parameter = listed.parameter;
    if (parameter.type != "integer" && parameter.type != "number") continue;
    std::vector<ParameterValue> wrong = {std::nan(""), std::string("seven"), true,
                                         std::vector<double>{1}};
    if (parameter.type == "integer") {
      wrong.emplace_back(std::int64_t(parameter.minimum) - 1);
      wrong.emplace_back(std::int64_t(parameter.maximum) + 1);
      wrong.emplace_back(parameter.minimum + 0.5);
    } else {
      wrong.emplace_back(std::nextafter(parameter.minimum, -INFINITY));
      wrong.emplace_back(std::nextafter(parameter.maximum, INFINITY));
      wrong.emplace_back(double(INFINITY));
    }
    for (const ParameterValue& value : wrong) {
      const std::string refusal = Refusal(listed, value);
      EXPECT_NE(refusal.find(parameter.path + " must be a "), std::string::npos)
          << listed.entry->info.name << " " << parameter.path << " " << ToText(value) << ": "
          << refusal;
      EXPECT_NE(refusal.find(" from "), std::string::npos) << refusal;
      EXPECT_NE(refusal.find("got "), std::string::npos) << refusal;
      ++tried;
    }
  }
  EXPECT_GT(tried, 700);
}

TEST(BadInputTest, UnknownChoicesAreRefusedWithTheList) {
  int tried = 0;
  for (const Listed& listed : AllParameters()) {
    if (listed.parameter.type != "choice") continue;
    for (const ParameterValue& value :
         {ParameterValue(std::string("nonsense")), ParameterValue(std::int64_t{1})}) {
      const std::string refusal = Refusal(listed, value);
      EXPECT_NE(refusal.find(listed.parameter.path + " must be one of "), std::string::npos)
          << refusal;
      for (const std::string& choice : listed.parameter.choices) {
        EXPECT_NE(refusal.find(choice), std::string::npos) << refusal;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 60);
}

TEST(BadInputTest, ListsMustHoldNumbersWithinTheirRange) {
  int tried = 0;
  for (const Listed& listed : AllParameters()) {
    const Parameter& parameter = listed.parameter;
    if (parameter.type != "numbers") continue;
    for (const ParameterValue& value :
         {ParameterValue(std::string("1")), ParameterValue(1.5),
          ParameterValue(std::vector<double>{std::nextafter(parameter.maximum, INFINITY)}),
          ParameterValue(std::vector<double>{std::nextafter(parameter.minimum, -INFINITY)}),
          ParameterValue(std::vector<double>{std::nan("")})}) {
      const std::string refusal = Refusal(listed, value);
      EXPECT_NE(refusal.find(parameter.path + " must be a list of numbers from "),
                std::string::npos)
          << refusal;
      ++tried;
    }
  }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace sextant
