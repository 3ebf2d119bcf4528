// Random numbers that are the same on every machine and in every release.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace sextant {

// A SplitMix64 stream (Steele et al. 2014, "Fast splittable pseudorandom number generators").
// The standard library's distributions differ between implementations; these do not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // A stream of its own for a named purpose: equal seeds and purposes give equal streams, and
  // drawing from one never moves another.
  static Random For(std::uint64_t seed, std::uint64_t purpose) {
    Random mixer(seed);
    return Random(mixer.Next() ^ Random(purpose * 0x9e3779b97f4a7c15u + 1).Next());
  }

  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // In 0 .. count-1; count > 0. The bias of the reduction is below count / 2^64.
  std::uint64_t Below(std::uint64_t count) {
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(Next()) * static_cast<unsigned __int128>(count)) >> 64);
  }

  // Standard normal by the Box-Muller transform, one value a call.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace sextant
