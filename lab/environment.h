// What a run ran on.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sextant::lab {

// {version, compiler, flags, torch, cpu, cores, threads, number}: for env.json and reports.
nlohmann::ordered_json DescribeEnvironment(int threads);

}  // namespace sextant::lab
