// sextant_bench: measures our kernels and the machine's limits; `serve` does so when told through a
// pipe, in turn with other processes.
#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "bench/memory_use.h"
#include "bench/subject.h"

namespace sextant::bench {
namespace {

using nlohmann::json;

struct Prepared {
  Subject subject;
  double seconds = 0;  // of a run, as last seen
};

// One request a line, one answer a line; bench/worker.py speaks the other side.
//   {"do":"describe"}                                  -> {"versions":{..}}
//   {"do":"prepare","id":I,"subject":S,"sizes":{...}}  -> {"work":..,"figures":{..}} or
//   {"missing":..}
//   {"do":"measure","id":I,"least_seconds":..}         -> {"seconds":..,"figures":{..}}
//   {"do":"release"}                                   -> {}
class Server {
 public:
  json Answer(const json& request) {
    const std::string what = request.at("do");
    if (what == "describe") return {{"versions", {{"sextant's SIMD target", SimdTarget()}}}};
    if (what == "prepare") return Prepare(request);
    if (what == "measure") {
      Prepared& one = prepared_.at(request.at("id"));
      one.seconds = SecondsOf(one.subject, request.at("least_seconds"), one.seconds);
      return {{"seconds", one.seconds}, {"figures", one.subject.figures}};
    }
    if (what == "release") {
      prepared_.clear();
      return json::object();
    }
    return {{"missing", "unknown request " + what}};
  }

 private:
  json Prepare(const json& request) {
    const std::string name = request.at("subject");
    const auto found = AllSubjects().find(name);
    if (found == AllSubjects().end()) return {{"missing", "sextant_bench has no subject " + name}};
    Subject subject = found->second(request.at("sizes").get<Sizes>());
    const json answer{{"work", subject.work}};
    prepared_[request.at("id")] = {std::move(subject), 0};
    return answer;
  }

  std::map<std::string, Prepared> prepared_;
};

void Serve() {
  Server server;
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = server.Answer(json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"missing", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}

// One run in a process of its own: time and memory. A small run before it brings in what does not
// depend on the sizes: code, threads and their stacks.
void Once(const std::string& name, const Sizes& sizes) {
  const MakeSubject& make = AllSubjects().at(name);
  Sizes small = sizes;
  small.tokens = 64;
  make(small).run(1);
  const Subject subject = make(sizes);
  ForgetPeak();
  const double before = ResidentBytes();
  const double seconds = SecondsOf(subject, 0, 1);
  std::cout << json{{"seconds", seconds},
                    {"work", subject.work},
                    {"figures", subject.figures},
                    {"beyond_inputs", PeakBytes() - before},
                    {"process_peak", ProcessPeakBytes()}}
            << "\n";
}

// A quick look at some subjects: interleaved rounds, medians.
void Measure(const std::vector<std::string>& names, const Sizes& sizes, int rounds) {
  std::vector<Prepared> all;
  for (const std::string& name : names) all.push_back({AllSubjects().at(name)(sizes), 0});
  std::vector<std::vector<double>> seconds(all.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].seconds = SecondsOf(all[i].subject, 0.02, all[i].seconds);
      seconds[i].push_back(all[i].seconds);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::sort(seconds[i].begin(), seconds[i].end());
    const double median = seconds[i][seconds[i].size() / 2];
    fmt::print("{:<32} {:>12.4f} ms {:>9.2f} G/s\n", names[i], median * 1e3,
               all[i].subject.work / median * 1e-9);
  }
}

int Main(int argc, char** argv) {
  CLI::App app{"Measures Sextant's kernels and the machine's limits."};
  app.require_subcommand(1);
  Sizes sizes;
  app.add_option("--threads", sizes.threads, "threads of everything measured")
      ->capture_default_str();
  app.fallthrough();
  app.add_subcommand("list", "names of the subjects");
  app.add_subcommand("serve", "answers requests on standard input, a JSON line each");
  CLI::App* measure = app.add_subcommand("measure", "medians of interleaved rounds");
  CLI::App* once = app.add_subcommand("once", "one run: time and memory, as JSON");
  std::vector<std::string> names;
  int rounds = 9;
  measure->add_option("subjects", names)->required();
  measure->add_option("--rounds", rounds)->capture_default_str();
  once->add_option("subject", names)->required()->expected(1);
  for (CLI::App* command : {measure, once}) {
    command->add_option("--tokens", sizes.tokens)->capture_default_str();
    command->add_option("--heads", sizes.heads)->capture_default_str();
    command->add_option("--kv-heads", sizes.kv_heads)->capture_default_str();
    command->add_option("--head-dim", sizes.head_dim)->capture_default_str();
    command->add_option("--bytes", sizes.bytes)->capture_default_str();
  }
  CLI11_PARSE(app, argc, argv);
  for (const std::string& name : names) {
    if (!AllSubjects().contains(name)) {
      std::cerr << "sextant_bench: no subject " << name << "; see sextant_bench list\n";
      return 2;
    }
  }
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                          std::size_t(sizes.threads));
  if (app.got_subcommand("serve")) Serve();
  if (app.got_subcommand(measure)) Measure(names, sizes, rounds);
  if (app.got_subcommand(once)) Once(names.front(), sizes);
  if (app.got_subcommand("list")) {
    for (const auto& [name, make] : AllSubjects()) std::cout << name << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace sextant::bench

int main(int argc, char** argv) {
  try {
    return sextant::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sextant_bench: " << error.what() << "\n";
    return 1;
  }
}
