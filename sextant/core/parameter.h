// Parameters declared once: JSON, command line, help and error messages all follow from a struct's
// own list of fields.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sextant {

// What a parameter can hold, or be given. (No parameter holds a bool: a choice of two names reads
// better. It is here so that a `true` in JSON gets a proper message.)
using ParameterValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

// Shortest text that reads back as the same value: 500000, 0.1, halves, [1,2.5].
std::string ToText(const ParameterValue& value);

// A number where the whole text is one, else the text itself: "5e5" -> 500000.0, "8" -> 8.
ParameterValue ParseParameterValue(std::string_view text);

// A declared parameter as data: what the help, the docs and the page show.
struct Parameter {
  std::string path;  // "heads", "frequencies.base"
  std::string type;  // "integer", "number", "choice", "numbers"
  ParameterValue value;
  double minimum = 0;
  double maximum = 0;
  std::vector<std::string> choices;
  std::string help;
  std::string follows;  // the model's dimension it takes where it is not given, e.g. "heads"
};

// How text spells a path: its last part; a group's rule by the name of the group.
//   "frequencies.base" -> "base", "frequencies.rule" -> "frequencies"
std::string ShortName(const std::string& path);

// Values by path, in the order given.
using ParameterValues = std::vector<std::pair<std::string, ParameterValue>>;

// One allowed name of a choice and what it stands for.
template <class T>
struct Choice {
  const char* name;
  T value;
};

// Fields are declared by a member template of the struct that holds them:
//
//   template <class Field> void fields(Field& field) {
//     field("heads", heads, 1, 4096, "attention heads", "heads");       // integer, follows a
//     dimension field("base", base, 1.001, 1e12, "ratio of the wavelengths");      // number
//     field("pairing", pairing, kPairings, "channels that turn together");  // choice
//     field.rule("frequencies", frequencies, "how frequencies are made");   // std::variant of
//     structs,
//   }                                                       // each with `static constexpr rule`
//   and fields
//
// A variant appears as the group "frequencies" holding "rule" and the fields of the chosen rule.

// Lists the fields of a struct with their present values.
class FieldLister {
 public:
  void operator()(const char* name, int& value, int minimum, int maximum, const char* help,
                  const char* follows = "");
  void operator()(const char* name, double& value, double minimum, double maximum,
                  const char* help);
  void operator()(const char* name, std::vector<double>& value, double minimum, double maximum,
                  const char* help);
  template <class T, std::size_t count>
  void operator()(const char* name, T& value, const Choice<T> (&choices)[count], const char* help) {
    std::vector<std::string> names;
    std::string now;
    for (const Choice<T>& choice : choices) {
      names.emplace_back(choice.name);
      if (choice.value == value) now = choice.name;
    }
    AddChoice(name, now, std::move(names), help);
  }
  void text(const char* name, std::string& value, const char* help);
  template <class... Rules>
  void rule(const char* group, std::variant<Rules...>& value, const char* help) {
    AddChoice((std::string(group) + ".rule").c_str(),
              std::visit([](auto& chosen) { return std::string(chosen.rule); }, value),
              {std::string(Rules::rule)...}, help);
    prefix_ = std::string(group) + ".";
    std::visit([&](auto& chosen) { chosen.fields(*this); }, value);
    prefix_.clear();
  }

  std::vector<Parameter> take() { return std::move(listed_); }

 private:
  void AddChoice(const char* name, std::string value, std::vector<std::string> choices,
                 const char* help);

  std::string prefix_;
  std::vector<Parameter> listed_;
};

// Sets the fields of a struct from values, checking type, range and name. A value is found under
// its path, its short name or the last part of its path, whichever field takes it first.
class FieldSetter {
 public:
  // `where` starts every error. `dimensions` fills fields that follow one of them and are not
  // given.
  FieldSetter(std::string where, ParameterValues given,
              const std::map<std::string, std::int64_t>& dimensions);

  void operator()(const char* name, int& value, int minimum, int maximum, const char* help,
                  const char* follows = "");
  void operator()(const char* name, double& value, double minimum, double maximum,
                  const char* help);
  void operator()(const char* name, std::vector<double>& value, double minimum, double maximum,
                  const char* help);
  template <class T, std::size_t count>
  void operator()(const char* name, T& value, const Choice<T> (&choices)[count], const char*) {
    std::vector<std::string> names;
    for (const Choice<T>& choice : choices) names.emplace_back(choice.name);
    if (const std::optional<std::size_t> chosen = TakeChoice(name, names)) {
      value = choices[*chosen].value;
    }
  }
  void text(const char* name, std::string& value, const char* help);
  template <class... Rules>
  void rule(const char* group, std::variant<Rules...>& value, const char*) {
    const std::optional<std::size_t> chosen =
        TakeChoice((std::string(group) + ".rule").c_str(), {std::string(Rules::rule)...});
    if (chosen) {
      std::size_t at = 0;
      ((at++ == *chosen ? void(value.template emplace<Rules>()) : void()), ...);
    }
    prefix_ = std::string(group) + ".";
    std::visit([&](auto& rule) { rule.fields(*this); }, value);
    prefix_.clear();
  }

  // Fails if a given value belongs to no field, naming the nearest field.
  void finish() const;

 private:
  std::optional<ParameterValue> Take(const std::string& path);
  std::optional<std::size_t> TakeChoice(const char* name, const std::vector<std::string>& names);
  [[noreturn]] void FailType(const std::string& path, const std::string& allowed,
                             const ParameterValue& got) const;

  std::string where_;
  std::string prefix_;
  ParameterValues given_;
  std::vector<bool> taken_;
  std::vector<std::string> known_;
  const std::map<std::string, std::int64_t>& dimensions_;
};

// The fields of `holder` with their present values.
template <class T>
std::vector<Parameter> ListFields(T holder) {
  FieldLister lister;
  holder.fields(lister);
  return lister.take();
}

// A T with its defaults, changed by `given` and `dimensions`. Throws Error naming field, range and
// the value it got.
template <class T>
T MakeFromFields(const std::string& where, const ParameterValues& given,
                 const std::map<std::string, std::int64_t>& dimensions, T holder = {}) {
  FieldSetter setter(where, given, dimensions);
  holder.fields(setter);
  setter.finish();
  return holder;
}

}  // namespace sextant
