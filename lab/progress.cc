// Live and plain progress.
#include "lab/progress.h"

#include <fmt/core.h>

#include <cmath>
#include <ostream>

namespace sextant::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLiveEvery = std::chrono::milliseconds(200);
constexpr auto kPlainEvery = std::chrono::seconds(10);

}  // namespace

ProgressLine::ProgressLine(std::ostream& out, ProgressStyle style)
    : out_(out), style_(style), last_(Clock::now()) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Clear() {
  if (shown_) out_ << "\r\033[K" << std::flush;
  shown_ = false;
}

void ProgressLine::Update(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (style_ == ProgressStyle::kLive) {
    if (shown_ && now - last_ < kLiveEvery) return;
    out_ << "\r\033[K" << text << std::flush;
    shown_ = true;
  } else {
    if (now - last_ < kPlainEvery) return;
    out_ << text << std::endl;
  }
  last_ = now;
}

void ProgressLine::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  Clear();
  out_ << text << std::endl;
  last_ = Clock::now();
}

std::string DurationText(double seconds) {
  const long whole = std::lround(std::max(0.0, seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace sextant::lab
