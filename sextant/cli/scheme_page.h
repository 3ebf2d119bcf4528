// What there is to say of a scheme, as sections: the same for the terminal and for its page.
#pragma once

#include <string>
#include <vector>

#include "sextant/schemes/registry.h"

namespace sextant::cli {

// A parameter, and under which choice of a rule it exists ("" always).
struct ListedParameter {
  Parameter parameter;
  std::string when;
};

// The scheme's parameters, then those that other choices of a rule would bring.
std::vector<ListedParameter> ParametersOf(const Scheme& scheme, const Registry& registry);

std::vector<HookName> HooksOf(const Scheme& scheme);
std::vector<std::string> ClaimsOf(const Scheme& scheme);
std::vector<std::string> AliasesOf(const Scheme& scheme);

// "2 .. 4096", "halves | adjacent".
std::string RangeOf(const Parameter& parameter);

// Items with a term ("heads = 8") or without; `details` are sentences under an item.
struct PageItem {
  std::string term;
  std::vector<std::string> details;
};
struct PageSection {
  std::string title;
  std::vector<PageItem> items;
};
struct SchemePage {
  std::string name, title;
  std::vector<PageSection> sections;
};

// Always the same headings in the same order: formula; where it enters; parameters; cost; what is
// invariant; in the trained length and beyond; known models; layout and sign conventions; pitfalls;
// error; which tests prove it; trainable weights; source.
SchemePage PageOf(const Scheme& scheme, const Registry& registry);

std::string TerminalText(const SchemePage& page);
std::string MarkdownText(const SchemePage& page);

}  // namespace sextant::cli
