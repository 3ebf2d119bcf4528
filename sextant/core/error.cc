// The text of an Error.
#include "sextant/core/error.h"

namespace sextant {
namespace {

std::string Message(std::string_view where, std::string_view rule, std::string_view hint) {
  std::string message(where);
  if (!message.empty()) message += ": ";
  message += rule;
  if (!hint.empty()) {
    message += "; ";
    message += hint;
  }
  return message;
}

}  // namespace

Error::Error(std::string_view where, std::string_view rule, std::string_view hint)
    : std::runtime_error(Message(where, rule, hint)), where_(where), rule_(rule), hint_(hint) {}

}  // namespace sextant
