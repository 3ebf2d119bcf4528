// What the documents expect, and whether this run agrees.
#include <fmt/format.h>

#include "lab/report/expectations.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

const char* ClassOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
      return "yes";
    case Verdict::kContradicts:
      return "no";
    case Verdict::kInconclusive:
    case Verdict::kNotMeasured:
      break;
  }
  return "open";
}

void AddVerdict(Html& html, Verdict verdict) {
  html.Element("span", {{"class", ClassOf(verdict)}}, VerdictText(verdict));
}

void AddExpectation(Html& html, const Expectation& expectation) {
  const Html::Inside item = html.In("li");
  {
    const Html::Inside heading = html.In("h3");
    AddVerdict(html, expectation.verdict);
    html.Text(": " + expectation.statement);
  }
  html.Element(
      "span", {{"class", "about"}},
      fmt::format("Agrees where {}. Expected by: {}.", expectation.rule, expectation.source));
  const Html::Inside list = html.In("ul");
  for (const Evidence& evidence : expectation.evidence) {
    const Html::Inside line = html.In("li");
    html.Element("span", evidence.about);
    html.Element("span", evidence.number);
    AddVerdict(html, evidence.verdict);
  }
}

}  // namespace

void AddExpectationSection(Html& html, const Report& report) {
  const std::vector<Expectation> expectations = CheckExpectations(report.results, report.summary);
  if (expectations.empty()) {
    html.Element("p", {{"class", "muted"}},
                 "None of the schemes is one that the documents say something checkable about, or "
                 "none has finished.");
    return;
  }
  html.Element("p",
               "Each line is decided by a fixed rule: it agrees or contradicts only where the "
               "whole 95 % interval lies on one side of the limit, else it is inconclusive. One "
               "seed has no interval, so it decides nothing about losses.");
  const Html::Inside list = html.In("ul", {{"class", "expectations"}});
  for (const Expectation& expectation : expectations) AddExpectation(html, expectation);
}

}  // namespace sextant::lab
