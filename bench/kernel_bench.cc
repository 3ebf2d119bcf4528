// sextant_kernel_bench: Google Benchmark over the subjects at sizes that show one cost each: a
// token, a cache's worth, memory's worth; short and long sequences.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/subject.h"
#include "sextant/core/error.h"

namespace sextant::bench {
namespace {

std::vector<Index> TokensFor(const std::string& name) {
  if (name.starts_with("rotate/")) return {1, 16, 256, 4096};
  if (name.starts_with("attention")) return {64, 256, 1024};
  return {1024};
}

void Register(const std::string& name, const MakeSubject& make, Index tokens) {
  benchmark::RegisterBenchmark(fmt::format("{}/tokens:{}", name, tokens).c_str(),
                               [make, name, tokens](auto& state) {
                                 Sizes sizes;
                                 sizes.tokens = tokens;
                                 if (name.starts_with("rotate/")) {
                                   sizes.heads = 32;
                                   sizes.head_dim = 128;
                                 }
                                 try {
                                   const Subject subject = make(sizes);
                                   for (auto _ : state) subject.run(1);
                                   state.counters["work/s"] = benchmark::Counter(
                                       subject.work, benchmark::Counter::kIsIterationInvariantRate);
                                 } catch (const Error& error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace sextant::bench

// Takes Google Benchmark's own flags, then the number of threads (2).
int main(int argc, char** argv) {
  for (const auto& [name, make] : sextant::bench::AllSubjects()) {
    if (name.starts_with("limit/")) continue;
    for (sextant::Index tokens : sextant::bench::TokensFor(name)) {
      sextant::bench::Register(name, make, tokens);
    }
  }
  benchmark::Initialize(&argc, argv);
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  if (threads < 1 || argc > 2) return 2;
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                          std::size_t(threads));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
