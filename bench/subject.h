// What is measured of our own code: subjects by name, made for given sizes.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sextant/core/view.h"

namespace sextant::bench {

// What a subject is made for; each reads the sizes that mean something to it.
struct Sizes {
  Index tokens = 2048;  // queries; decoding: tokens in the cache
  Index heads = 8;
  Index kv_heads = 8;
  Index head_dim = 64;
  Index bytes = Index{1} << 20;  // of the memory that a bandwidth limit runs over
  int threads = 2;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Sizes, tokens, heads, kv_heads, head_dim, bytes,
                                                threads)

struct Subject {
  double work = 0;                        // of one run: floating-point operations, or bytes moved
  std::function<void(int repeats)> run;   // outputs are written to memory that was made before
  std::map<std::string, double> figures;  // facts found on the way, by name
};

// A subject whose repeats are a plain loop.
Subject Repeated(double work, std::function<void()> once);

using MakeSubject = std::function<Subject(const Sizes&)>;
using SubjectList = std::map<std::string, MakeSubject>;

// All subjects; each file below adds its own.
const SubjectList& AllSubjects();

void AddLimits(SubjectList& list);
void AddRotation(SubjectList& list);
void AddAttention(SubjectList& list);
void AddDecoding(SubjectList& list);
void AddTables(SubjectList& list);

// The instruction set that Highway chooses here, by its name.
std::string SimdTarget();

// Seconds of one run: the mean over as many runs as take `least_seconds`, after one that does not
// count unless `expected` seconds (0: unknown) say that it is long.
double SecondsOf(const Subject& subject, double least_seconds, double expected);

}  // namespace sextant::bench
